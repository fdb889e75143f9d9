coins = [int(c) for c in input().split()]
amount = int(input())
how = {0: None}
for sum in range(1, amount + 1):
    for coin in coins:
        if sum - coin in how:
            how[sum] = coin
            break
if amount not in how:
    print("impossible")
else:
    paid = []
    while amount:
        paid.append(how[amount])
        amount -= paid[-1]
    print(*paid)
