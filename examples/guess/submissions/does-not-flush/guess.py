import sys

low, high = 1, 1000
while True:
    guess = (low + high) // 2
    print(guess)  # stays in this program's buffer
    said = sys.stdin.readline().strip()
    if said == "right":
        break
    if said == "higher":
        low = guess + 1
    else:
        high = guess - 1
