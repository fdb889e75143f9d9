print(10 * int(input()))
