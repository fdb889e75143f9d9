import os

# Nothing of one pass is there in the next.
what, word = input().split()
if what == "encode":
    for place in "kept", "/tmp/kept", "/dev/shm/kept":
        open(place, "w").write(word)
    print("ab")
else:
    for place in "kept", "/tmp/kept", "/dev/shm/kept":
        if os.path.exists(place):
            print(open(place).read())
            break
    else:
        print("lost")
