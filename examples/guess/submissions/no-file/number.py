print(500)
