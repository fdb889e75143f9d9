import sys

sys.stdin.read()
while True:
    pass
