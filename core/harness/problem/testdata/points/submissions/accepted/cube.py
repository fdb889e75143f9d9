n = int(input())
print(n ** 3)
