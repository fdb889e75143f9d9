print(round(int(input()) / 3, 3))
