n = int(input())
print(n * n if n > 0 else 0)
