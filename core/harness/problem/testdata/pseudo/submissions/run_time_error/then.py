import sys

print(len(sys.stdin.read()))
sys.exit(1)
