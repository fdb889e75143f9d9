print(input(), "x")
