# 161 to 200 bytes, so all but half of 10 points and 40 of the tests of the first group are lost,
# that is 45 of 100, or more
print(sum(map(int, input().split())))
