coins = [int(c) for c in input().split()]
print(coins[len(coins)])
