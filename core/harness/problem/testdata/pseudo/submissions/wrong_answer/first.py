import sys

print(sys.stdin.read().split()[0])
