package problem

import "strings"

// validateScript runs the package's output validator, of which only 42 and 43 are verdicts. A share of the points comes
// first. What it says to the submitter is for standard output, unless the submission would read it; what it says to judges is
// for standard error, which only staff read.
func validateScript(interactive bool) string {
	into, team := ">said 2>&1", ""
	if interactive {
		into, team = "2>said", ">&2"
	}
	return strings.NewReplacer("INTO", into, "TEAM", team).Replace(validateText)
}

const validateText = `#!/bin/sh
# Runs the output validator: its feedback folder is made here, and what it says to people is passed on.
# The third argument is what points are out of: a number, "none" if it may give none, "ignore" if they do not count.
input=$1 answer=$2 most=$3
shift 3
mkdir -p feedback || exit 99
"./` + validatorDir + `/run" "$input" "$answer" feedback/ "$@" INTO
code=$?
fault() {
	echo "$1" >&2
	head -c 2000 said >&2
	exit 99
}
case $code in
42 | 43) ;;
*) fault "the validator ended with exit code $code, and only 42 and 43 are verdicts" ;;
esac
[ ! -e feedback/nextpass.in ] || fault "the validator wrote nextpass.in: drover runs a submission once for a test"
share= file=
if [ "$most" != ignore ]; then
	for file in feedback/score.txt feedback/score_multiplier.txt; do
		[ -e "$file" ] || continue
		[ "$most" != none ] || fault "the validator wrote ${file#*/}, and the test is all or nothing"
		[ "$code" = 42 ] || fault "the validator wrote ${file#*/} for an output that is wrong"
		[ -z "$share" ] || fault "the validator wrote both score.txt and score_multiplier.txt"
		of=$most
		[ "$file" = feedback/score.txt ] || of=1
		share=$(awk -v most="$of" '
			NF { for (i = 1; i <= NF; i++) { n++; v = $i } }
			END {
				if (n != 1 || v !~ /^[0-9.]+([eE][-+]?[0-9]+)?$/ || v + 0 > most * (1 + 1e-9)) exit 1
				if (most == 0) print 1
				else { s = v / most; print (s > 1 ? 1 : s) }
			}' "$file") || fault "${file#*/} of the validator is no number from 0 to $of"
	done
fi
if [ -n "$share" ]; then
	echo "$share" TEAM
	code=7
fi
if [ -s feedback/teammessage.txt ]; then
	head -c 2000 feedback/teammessage.txt TEAM
fi
if [ -s feedback/judgemessage.txt ]; then
	head -c 2000 feedback/judgemessage.txt >&2
fi
head -c 2000 said >&2
exit "$code"
`
