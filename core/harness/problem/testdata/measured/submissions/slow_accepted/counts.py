total = sum(map(int, input().split()))
for _ in range(10**9):
    pass
print(total)
