print(int(input()) % 10)
