import sys
n = int(open(sys.argv[1]).read())
said = sys.stdin.read().split()
if len(said) != 1 or not said[0].isdigit():
    sys.exit(43)
off = abs(n - int(said[0]))
if off > n:
    open(sys.argv[3] + "score.txt", "w").write("0\n")  # it does not count
    sys.exit(43)
if "no" not in sys.argv:
    open(sys.argv[3] + "score.txt", "w").write(str(40 - 40 * off / n) + "\n")
sys.exit(42)
