# Usage: words.py language entry_point feedback_dir/ FORBIDDEN...
import os
import sys

language, entry, feedback, *forbidden = sys.argv[1:]
if language not in ("c", "python3") or not os.path.isfile(entry) or not os.path.isdir(feedback):
    sys.exit(1)
text = open(entry).read()
for word in forbidden:
    if word in text:
        open(feedback + "judgemessage.txt", "w").write("it says " + word)
        sys.exit(43)
sys.exit(42)
