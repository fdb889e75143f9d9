print("ten")
