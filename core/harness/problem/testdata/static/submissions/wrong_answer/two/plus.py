def numbers():
    return map(int, input().split())
