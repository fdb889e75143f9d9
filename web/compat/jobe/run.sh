needs=$1 compile=$2 run=$3 cpu=$4 wall=$5 compile_cpu=$6 compile_wall=$7 data=$8 file=$9
shift 9
stream=$1
d=.jobe
mkdir -p $d
exec 3>&2 2>/dev/null # what this shell says of signals is not the program's

for program in $needs; do
	command -v "$program" >/dev/null || { echo "$program" >$d/missing; exit 0; }
done

clock() { read -r up rest </proc/uptime || up=; }
spent() { times >$d/times; { read -r own rest; read -r user system; } <$d/times; }

cut() { # all but the first bytes of a file of output
	[ "$(wc -c <$d/$1)" -le "$2" ] && return
	head -c "$2" $d/$1 >$d/part
	mv $d/part $d/$1
	: >$d/cut.$1
}

compiled=
if [ -n "$compile" ]; then
	echo compiling >$d/note
	clock; from=$up
	(ulimit -t "$compile_cpu"; ulimit -f "$file"; exec timeout -s KILL "$compile_wall" sh -c "$compile") >$d/compiled.out 2>$d/compiled.err 3>&- </dev/null
	status=$?
	clock; spent
	compiled="compiled $status $user $system $from $up"
	echo "$compiled" >$d/note
	[ $status = 0 ] && [ ! -s $d/compiled.err ] || { cut compiled.out 262144; cut compiled.err 262144; exit 0; }
fi

once() {
	ulimit -S -t "$cpu"; ulimit -H -t $((cpu + 1))
	ulimit -f "$file"
	if [ "$data" != 0 ]; then
		ulimit -d "$data"
		# Recursion without end is to be a signal before the VM's memory is full.
		stack=$((data / 2))
		ulimit -S -s $((stack < 65536 ? stack : 65536))
	fi
	exec timeout -s KILL "$wall" sh -c "$run"
}
clock; from=$up
(once >$d/out 2>$d/err 3>&-)
status=$?
clock; spent
# What the program left behind is killed first, so that nobody changes what is noted. In a VM only.
[ $PPID != 1 ] || kill -9 -1
cut out "$stream"; cut err "$stream"
rm -rf $d/note
printf '%s\nran %s\n' "$compiled" "$status $user $system $from $up" >$d/note
# For who looks at the request itself.
head -c 65536 $d/out
head -c 65536 $d/err >&3
exit $status
