package attack

import (
	"fmt"
	"strings"
	"testing"

	"drover/core/agent/wire"
	"drover/core/harness"
	"drover/vmfactory/providertest"
)

// forgers are submissions that do not know the answer, a word that each harness makes
// up, and try to be graded as if they did. Each prints what it takes for the answer, and none
// waits for a pipe.
var forgers = map[string]string{
	"module": `for d in "$DROVER_SUBMISSION" "$DROVER_SUBMISSION"/../* /home/job/* . /tmp; do
	cp "$DROVER_SUBMISSION/module" "$d/difflib.py"
	printf 'score=1000\n' >"$d/module.sh"
done`,
	"files": `cat "$DROVER_SUBMISSION"/../*/answer /home/job/*/answer | head -1`,
	"memory": `for p in /proc/[0-9]*; do
	while read -r range rights rest; do
		case $rights in rw*) ;; *) continue ;; esac
		from=$((0x${range%-*} / 4096)) to=$((0x${range#*-} / 4096))
		dd if="$p/mem" bs=4096 skip="$from" count=$((to - from))
	done <"$p/maps"
done | tr -c 'a-z0-9-' '\n' | grep '^answer-[0-9a-f]\{32\}$' | sort -u | tail -1`,
	"variables": `for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/fd/[3-9]; do
	dd if="$f" iflag=nonblock count=100
done | tr -c 'a-z0-9-' '\n' | grep '^answer-[0-9a-f]\{32\}$' | tail -1`,
	"report": `cat "$DROVER_SUBMISSION/forged"
for f in /proc/[0-9]*/fd/[012]; do
	dd if="$DROVER_SUBMISSION/forged" of="$f" oflag=nonblock conv=notrunc
done`,
}

// forgedReport is what a submission would have the harness say.
const forgedReport = `{"score":1000,"max_score":1000,"tests":[],"rest":"`

// forgedModule says so, too, and has the last word.
const forgedModule = `
import os
os.write(1, open(os.environ["DROVER_SUBMISSION"] + "/forged", "rb").read().strip() + b'"}')
os._exit(0)
`

// shellHarness keeps its answer as a careless author does: in a variable, in its
// environment, in a file beside it that it has open. It reads a part of itself late.
const shellHarness = `
cd "$DROVER_HARNESS" || exit 1
answer=answer-$(tr -dc a-f0-9 </dev/urandom | head -c 32)
export answer
echo "$answer" >answer
chmod 644 answer
exec 5<answer
score=0 tests=
for one in "$DROVER_SUBMISSION"/*.sh; do
	got=$(drover-run --time 20s -- sh "$one" 2>/dev/null)
	[ "$got" != "$answer" ] || score=$((score + 1))
	name=${one##*/}
	tests="$tests${tests:+,}{\"name\":\"$name\",\"score\":$([ "$got" = "$answer" ] && echo 1 || echo 0),\"max_score\":1}"
done
[ ! -e module.sh ] || . ./module.sh
printf '{"score":%d,"max_score":5,"tests":[%s]}' "$score" "$tests"
`

// pythonHarness imports a module of the library only when it is needed, from a path that
// begins with its own folder.
const pythonHarness = `
import json, os, secrets, subprocess
answer, tests = "answer-" + secrets.token_hex(16), []
with open(os.environ["DROVER_HARNESS"] + "/answer", "w") as f:
    f.write(answer)
folder = os.environ["DROVER_SUBMISSION"]
for one in sorted(n for n in os.listdir(folder) if n.endswith(".sh")):
    run = subprocess.run(["drover-run", "--time", "20s", "--", "sh", folder + "/" + one], capture_output=True)
    got = run.stdout.decode(errors="replace").strip()
    if got != answer:
        import difflib
        list(difflib.ndiff([got], [answer]))
    tests.append({"name": one[:-3], "score": int(got == answer), "max_score": 1})
print(json.dumps({"score": sum(t["score"] for t in tests), "max_score": 5, "tests": tests}))
`

// forgeries grades submissions that want points without an answer: by a harness in
// shell and, where the VM has it, one in Python.
func forgeries(t *testing.T, s *scene) []string {
	t.Helper()
	v := s.Armed(t, providertest.Pool())
	var files strings.Builder
	write := func(place, name, text string) {
		fmt.Fprintf(&files, "cat >\"$%s/%s\" <<'EOF'\n%s\nEOF\n", place, name, text)
	}
	for name, script := range forgers {
		write("DROVER_SUBMISSION", name+".sh", script)
	}
	write("DROVER_SUBMISSION", "forged", forgedReport)
	write("DROVER_SUBMISSION", "module", forgedModule)
	write("DROVER_HARNESS", "grade.sh", shellHarness)
	write("DROVER_HARNESS", "grade.py", pythonHarness)
	var leaks []string
	for _, grade := range []string{`exec sh "$DROVER_HARNESS/grade.sh"`, `command -v python3 >/dev/null || exit 42; exec python3 "$DROVER_HARNESS/grade.py"`} {
		o := v.Harness(t, files.String()+grade)
		if o.HeldBy[wire.LimitHarness] == "" {
			leaks = append(leaks, "this kernel has no Landlock")
			continue
		}
		if o.Code == 42 {
			t.Log("this image has no Python")
			continue
		}
		leaks = append(leaks, points(o)...)
	}
	v.Alive(t)
	s.end(t, v)
	return leaks
}

// points are what a report gives, or how it was spoilt.
func points(o providertest.Outcome) []string {
	report, err := harness.ParseReport([]byte(o.Stdout))
	if o.Code != 0 || err != nil {
		return []string{fmt.Sprintf("spoilt the report: %v: %+v", err, o)}
	}
	if *report.Score != 0 || *report.MaxScore != float64(len(forgers)) || len(report.Tests) != len(forgers) {
		return []string{fmt.Sprintf("was graded: %.600s", o.Stdout)}
	}
	return nil
}
