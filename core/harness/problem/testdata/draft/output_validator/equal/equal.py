import sys
same = sys.stdin.read().split() == open(sys.argv[2]).read().split()
open(sys.argv[3] + "judgemessage.txt", "w").write("for judges\n")
open(sys.argv[3] + "teammessage.txt", "w").write("for teams\n")
sys.exit(42 if same else 43)
