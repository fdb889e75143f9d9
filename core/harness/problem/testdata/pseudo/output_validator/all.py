import os
import sys

numbers = open(sys.argv[1]).read()
sys.stdout.write(numbers)
sys.stdout.flush()
os.close(1)  # the submission reads to the end
said = sys.stdin.read().split()
if len(said) == 1 and said[0] == str(sum(map(int, numbers.split()))):
    sys.exit(42)
with open(sys.argv[3] + "teammessage.txt", "w") as f:
    f.write("This is not the sum of all.\n")
sys.exit(43)
