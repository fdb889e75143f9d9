print(input().upper(), "  x")
