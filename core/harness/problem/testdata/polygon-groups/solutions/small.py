print(2 * min(int(input()), 99))
