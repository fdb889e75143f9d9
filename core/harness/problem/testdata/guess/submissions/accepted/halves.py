low, high = 1, 1000
while True:
    mid = (low + high) // 2
    print(mid, flush=True)
    said = input()
    if said == "right":
        break
    low, high = (mid + 1, high) if said == "higher" else (low, mid - 1)
