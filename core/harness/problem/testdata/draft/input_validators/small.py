import sys
sys.exit(42 if int(sys.stdin.read()) <= (int(sys.argv[1]) if len(sys.argv) > 1 else 100) else 1)
