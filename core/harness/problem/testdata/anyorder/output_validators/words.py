import sys
given, answer, feedback = sys.argv[1:4]
want = sorted(open(answer).read().split())
got = sorted(sys.stdin.read().split())
if got == want:
    sys.exit(42)
open(feedback + "judgemessage.txt", "w").write("other words than expected\n")
sys.exit(43)
