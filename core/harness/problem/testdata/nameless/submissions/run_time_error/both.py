n = int(input())
print(5 // n)
