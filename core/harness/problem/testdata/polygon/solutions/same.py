n = int(open("terms.in").read())
print(n // 2, n - n // 2, file=open("terms.out", "w"))
