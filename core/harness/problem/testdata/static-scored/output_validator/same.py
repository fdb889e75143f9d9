import sys

if sys.argv[4:] != ["any"]:
    sys.exit(1)
sys.exit(42 if sys.stdin.read().split() == open(sys.argv[2]).read().split() else 43)
