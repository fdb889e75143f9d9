#!/bin/sh
# Believes every line: nothing is ever refused.
awk '
	$1 == "deposit"  { balance[$2] += $3 }
	$1 == "withdraw" { balance[$2] -= $3 }
	$1 == "transfer" { balance[$2] -= $4; balance[$3] += $4 }
	END {
		for (name in balance) print name, balance[name] | "sort"
		close("sort")
		print "refused 0"
	}
'
