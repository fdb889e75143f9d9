"""Says whether a payment is right: check.py input output answer."""
import sys

with open(sys.argv[1]) as f:
    coins = f.readline().split()
    amount = int(f.readline())
with open(sys.argv[2], errors="replace") as f:
    paid = f.read().split()

for coin in paid:
    if coin not in coins:
        print(f"There is no coin {coin[:20]!r}.")
        sys.exit(1)
total = sum(int(coin) for coin in paid)
if total != amount:
    print(f"These coins make {total}, not {amount}.")
    sys.exit(1)
