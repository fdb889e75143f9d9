# Usage: length.sh language entry_point feedback_dir/ MOST: half of the points for more than MOST bytes, none above twice that.
n=$(wc -c <"$2")
if [ "$n" -gt $((2 * $4)) ]; then
	exit 43
elif [ "$n" -gt "$4" ]; then
	echo 0.5 >"$3/score_multiplier.txt"
fi
exit 42
