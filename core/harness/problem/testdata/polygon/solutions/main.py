n = int(open("terms.in").read())
print(1, n - 1, file=open("terms.out", "w"))
