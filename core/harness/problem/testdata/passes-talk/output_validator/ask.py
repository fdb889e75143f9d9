import sys

# Each pass asks for the double of a number; the second asks for that of what the first was told.
number = int(open(sys.argv[1]).read())
print(number, flush=True)
said = sys.stdin.readline().strip()
if said != str(2 * number):
    sys.exit(43)
if number > 100:
    sys.exit(42)
with open(sys.argv[3] + "nextpass.in", "w") as f:
    f.write(str(100 + 2 * number))
sys.exit(42)
