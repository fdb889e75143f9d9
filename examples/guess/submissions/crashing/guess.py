print(500, flush=True)
answer = input()
print([1, 2, 3][500], answer)
