low, high = 1, 100
while True:
    n = (low + high) // 2
    print(n, flush=True)
    said = input()
    if said == "yes":
        break
    if said == "more":
        low = n + 1
    else:
        high = n - 1
