echo 3 5
