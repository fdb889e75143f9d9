package problem

import "strings"

// validateScript runs the package's output validator. An interactor takes the script's place, so that the end of its output
// and its own end are what the VM sees; how it has ended is then judged by the other script.
func validateScript(interactive bool) string {
	if interactive {
		return validateText + `exec "./` + validatorDir + `/run" "$input" "$answer" feedback/ "$@" 2>said` + "\n"
	}
	return validateText + `"./` + validatorDir + `/run" "$input" "$answer" feedback/ "$@" >said 2>&1` + "\nset -- $?\n. ./" + verdictFile + "\n"
}

const validateText = `#!/bin/sh
# Runs the output validator. Its feedback folder is made here, and may have files of an earlier pass.
# The third argument is what points are out of: a number, "none" if it may give none, "ignore" if they do not count.
input=$1 answer=$2
` + staticText + `echo "$3" >most
shift 3
mkdir -p feedback || exit 99
`

// verdictScript judges how the output validator has ended: only 42 and 43 are verdicts. A share of the points comes first.
// What it says to the submitter is for standard output; what it says to judges is for standard error, which only staff read.
// Points for an output that is wrong are a fault, but in the legacy format, which does not say so and whose validators
// write 0, they do not count.
func verdictScript(passes int, legacy bool) string {
	next := `fault "the validator wrote nextpass.in: drover runs a submission once for a test"`
	if passes > 1 {
		next = `{
	[ "$code" = 42 ] || fault "the validator wrote nextpass.in for an output that is wrong"
	exit 42
}`
	}
	wrong := `fault "the validator wrote ${file#*/} for an output that is wrong"`
	if legacy {
		wrong = "continue"
	}
	return strings.NewReplacer("NEXTPASS", next, "POINTSFORNOTHING", wrong).Replace(verdictText)
}

const verdictText = `#!/bin/sh
# Judges how the output validator has ended: its argument is the exit code. What it says to people is passed on.
code=$1 most=$(cat most)
fault() {
	echo "$1" >&2
	head -c 2000 said >&2
	exit 99
}
case $code in
42 | 43) ;;
*) fault "the validator ended with exit code $code, and only 42 and 43 are verdicts" ;;
esac
[ ! -e feedback/nextpass.in ] || NEXTPASS
share= file=
if [ "$most" != ignore ]; then
	for file in feedback/score.txt feedback/score_multiplier.txt; do
		[ -e "$file" ] || continue
		[ "$code" = 42 ] || POINTSFORNOTHING
		[ "$most" != none ] || fault "the validator wrote ${file#*/}, and the test is all or nothing"
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
	echo "$share"
	code=7
fi
if [ -s feedback/teammessage.txt ]; then
	head -c 2000 feedback/teammessage.txt
fi
if [ -s feedback/judgemessage.txt ]; then
	head -c 2000 feedback/judgemessage.txt >&2
fi
head -c 2000 said >&2
exit "$code"
`
