def lines(name):
    return len(open(name).readlines())
