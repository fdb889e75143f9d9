#!/bin/sh
# A right answer under a wrong name.
awk '
	/^[ \t]*$/ || /^#/ { next }
	function whole(s) { return s ~ /^[0-9]+$/ && s > 0 }
	function has(name, amount) { return (name in balance) && balance[name] >= amount }
	$1 == "deposit" && NF == 3 && whole($3) { balance[$2] += $3; next }
	$1 == "withdraw" && NF == 3 && whole($3) && has($2, $3) { balance[$2] -= $3; next }
	$1 == "transfer" && NF == 4 && whole($4) && has($2, $4) { balance[$2] -= $4; balance[$3] += $4; next }
	{ refused++ }
	END {
		for (name in balance) printf "%s %d\n", name, balance[name] | "sort"
		close("sort")
		print "refused", refused + 0
	}
'
