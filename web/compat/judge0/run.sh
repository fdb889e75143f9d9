compile=$1 run=$2 runs=$3 cpu=$4 most=$5 wall=$6 stack=$7 file=$8 data=$9
shift 9
merge=$1 compile_cpu=$2 compile_wall=$3
d=.judge0
mkdir -p $d
exec 3>&2 2>/dev/null # what this shell says of signals is not the program's

clock() { read -r up rest </proc/uptime || up=; }
spent() { times >$d/times; { read -r own rest; read -r user system; } <$d/times; }

compiled=
if [ -n "$compile" ]; then
	echo compiling >$d/note
	clock; from=$up
	(ulimit -t "$compile_cpu"; exec timeout -s KILL "$compile_wall" sh -c "$compile") >$d/compile 2>&1 3>&- </dev/null
	status=$?
	clock; spent
	compiled="compiled $status $user $system $from $up"
	echo "$compiled" >$d/note
	[ $status = 0 ] || exit 0
fi

once() {
	ulimit -S -t "$cpu"; ulimit -H -t "$most"
	[ "$stack" = 0 ] || ulimit -s "$stack"
	ulimit -f "$file"
	[ -z "$data" ] || ulimit -d "$data"
	exec timeout -s KILL "$wall" sh -c "$run"
}
begin() { if [ -n "$merge" ]; then once 2>&1; else once 2>$d/err.$n; fi; }

[ "$runs" = 1 ] || cat >$d/stdin
n=1 ran=
while :; do
	clock; from=$up
	if [ "$runs" = 1 ]; then (begin >$d/out.$n 3>&-)
	else (begin <$d/stdin >$d/out.$n 3>&-)
	fi
	status=$?
	clock; spent
	ran="$ran
ran $status $user $system $from $up"
	[ $status = 0 ] && [ $n != "$runs" ] || break
	n=$((n + 1))
done
# What the program left behind is killed first, so that nobody changes what is noted. In a VM only.
[ $PPID != 1 ] || kill -9 -1
rm -rf $d/note
echo "$compiled$ran" >$d/note
# For who looks at the request itself.
head -c 65536 $d/out.$n
head -c 65536 $d/err.$n >&3
exit $status
