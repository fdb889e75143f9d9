import os
import sys

# First pass: the input is "encode" and a number; the output is a word of a and b. Second: "decode" and that word; the
# output is the number. Notes of the first pass are still there in the second.
test, feedback = open(sys.argv[1]).read().split(), sys.argv[3]
said = sys.stdin.read().split()
notes = feedback + "notes"


def wrong(why):
    with open(feedback + "judgemessage.txt", "a") as f:
        f.write(why + "\n")
    sys.exit(43)


if len(said) != 1:
    wrong("one word is wanted")
if test[0] == "encode":
    if set(said[0]) - set("ab"):
        wrong("a and b are wanted")
    with open(notes, "w") as f:
        f.write(test[1])
    with open(feedback + "nextpass.in", "w") as f:
        f.write("decode " + said[0] + "\n")
    sys.exit(42)
if os.path.exists(feedback + "nextpass.in"):
    sys.exit(1)
if said[0] != open(notes).read():
    wrong("it was " + open(notes).read())
sys.exit(42)
