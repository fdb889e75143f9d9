import numbers_of
print(numbers_of.twice(int(input())))
