n = int(input())
assert n in (4, 5)
print(n * n)
