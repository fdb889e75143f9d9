print(int(input()) / 3 + 0.01)
