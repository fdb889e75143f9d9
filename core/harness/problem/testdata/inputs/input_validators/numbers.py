import re, sys
print("what a validator says counts for nothing\n" * 100_000)
sys.exit(42 if re.fullmatch(r"-?\d+ -?\d+\n", sys.stdin.read()) else 43)
