import sys
from lines import lines
print(lines(input()), sys.argv[1])
