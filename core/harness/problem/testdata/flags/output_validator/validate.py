import sys
inp, ans, feedback = open(sys.argv[1]).read(), open(sys.argv[2]).read(), sys.argv[3]
args = sys.argv[4:]
n, said = int(inp), int(sys.stdin.read())
good = said > 0 and n % said == 0 and n <= {{most}}
if "odd" in args:
    good = good and said % 2 == 1
if "least" in args:
    good = good and said >= int(args[args.index("least") + 1])
sys.exit(42 if good else 43)
