print(2 * int(input()) % 100)
