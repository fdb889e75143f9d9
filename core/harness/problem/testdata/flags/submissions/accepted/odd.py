n = int(input())
print(next(d for d in range(n if n < 13 else {{most}}, 0, -1) if n % d == 0 and d % 2 == 1))
