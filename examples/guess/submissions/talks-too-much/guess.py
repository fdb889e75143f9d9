while True:
    print("is it " + "7" * 1000, flush=True)
