n = int(input())
print(n * n % 2**32)
