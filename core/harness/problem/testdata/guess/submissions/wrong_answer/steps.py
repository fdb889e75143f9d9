n = 0
while True:
    n += 1
    print(n, flush=True)
    try:
        if input() == "right":
            break
    except EOFError:
        break
