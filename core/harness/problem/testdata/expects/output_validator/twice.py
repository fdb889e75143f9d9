import sys

n, said = int(open(sys.argv[1]).read()), sys.stdin.read().split()
if said == [str(2 * n)]:
    sys.exit(42)
with open(sys.argv[3] + "judgemessage.txt", "w") as f:
    f.write("%s is not twice %d\n" % (" ".join(said), n))
sys.exit(43)
