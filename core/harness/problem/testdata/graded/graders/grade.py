import sys

# "best N" takes the N best results, "total" takes all; it is accepted if one is.
results = [(line.split()[0], float(line.split()[1])) for line in sys.stdin]
points = sorted((p for verdict, p in results if verdict == "AC"), reverse=True)
if sys.argv[1] == "best":
    points = points[: int((sys.argv[2:] or ["1"])[0])]
print("grading", len(results), file=sys.stderr)
print("AC" if points else "WA", sum(points))
