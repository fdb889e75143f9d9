# This one prints nothing that is right, and has far more than two hundred bytes of words that say so, all of them here.
# More of them are on this second line, so that no validation can give it any points, wherever it is and whatever it asks.
print("none")
