import sys
n = int(sys.stdin.readline())
most = int(sys.argv[1]) if len(sys.argv) > 1 else 6
sys.exit(42 if 0 < n <= most and (len(sys.argv) < 3 or sys.argv[2] == "2") and "{{most}}" == "5" + "0" else 1)
