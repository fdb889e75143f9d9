n = int(input())
print(2 * n if n < 4 else 4)
