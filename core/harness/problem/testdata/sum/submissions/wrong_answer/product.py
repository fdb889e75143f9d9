a, b = map(int, input().split())
print(3 if a == 1 else a * b)
