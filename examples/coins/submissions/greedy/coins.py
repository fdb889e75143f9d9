coins = sorted((int(c) for c in input().split()), reverse=True)
amount = int(input())
paid = []
for coin in coins:
    while amount >= coin:
        paid.append(coin)
        amount -= coin
print("impossible" if amount else " ".join(str(c) for c in paid))
