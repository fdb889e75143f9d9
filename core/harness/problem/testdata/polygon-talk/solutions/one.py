while True:
    print(1, flush=True)
    if input() == "yes":
        break
