import sys
secret = int(open(sys.argv[1]).read())
for _ in range(10):
    line = sys.stdin.readline()
    if not line.strip():
        sys.exit(43)
    guess = int(line)
    print("right" if guess == secret else "higher" if guess < secret else "lower", flush=True)
    if guess == secret:
        sys.exit(42)
open(sys.argv[3] + "/judgemessage.txt", "w").write("too many guesses\n")
sys.exit(43)
