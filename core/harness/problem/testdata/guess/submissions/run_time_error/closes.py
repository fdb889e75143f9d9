import os
import sys

os.close(1)
sys.stdin.read()  # until the validator has ended, because nothing came
raise SystemExit(1)
