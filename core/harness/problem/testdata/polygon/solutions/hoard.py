all = [bytes(1 << 20) + b"x" for _ in range(1000)]
