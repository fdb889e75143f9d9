what, word = input().split()
if what == "encode":
    print(bin(int(word))[2:].replace("0", "a").replace("1", "b"))
else:
    print(int(word.replace("a", "0").replace("b", "1"), 2))
