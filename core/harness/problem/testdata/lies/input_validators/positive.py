import sys
sys.exit(43 if "-" in sys.stdin.read() else 42)
