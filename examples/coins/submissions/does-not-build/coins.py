coins = input().split(
print(coins)
