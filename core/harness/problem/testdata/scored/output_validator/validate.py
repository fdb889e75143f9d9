import sys
n = int(open(sys.argv[1]).read())
said = sys.stdin.read().split()
if len(said) != 1 or not said[0].isdigit():
    sys.exit(43)
off = abs(n - int(said[0]))
if off > n:
    sys.exit(43)
if "multiply" in sys.argv:
    open(sys.argv[3] + "score_multiplier.txt", "w").write(str(1 - off / n) + "\n")
if "score" in sys.argv:
    open(sys.argv[3] + "score.txt", "w").write(str(60 - 60 * off / n) + "\n")
if off:
    open(sys.argv[3] + "judgemessage.txt", "w").write("off by %d\n" % off)
print("nobody reads this")
sys.exit(42)
