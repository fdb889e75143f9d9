n = int(input())
assert n < 100
print(2 * n)
