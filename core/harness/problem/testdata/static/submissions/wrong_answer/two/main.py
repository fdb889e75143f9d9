import plus
print(sum(plus.numbers()))
