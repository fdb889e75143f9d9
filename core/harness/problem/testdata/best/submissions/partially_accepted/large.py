n = int(input())
print(n * n if abs(n) > 3 else 0)
