print(input().upper(), " x")
