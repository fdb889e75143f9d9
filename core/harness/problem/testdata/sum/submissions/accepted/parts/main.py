from other import add
print(add(*map(int, input().split())))
