package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/agent"
	"drover/core/agent/boxrun"
)

// grading starts a VM with an assignment and drover-run in its PATH.
func grading(t *testing.T, kind string) *vm {
	t.Helper()
	v, _ := again(t, kind)
	v.program(t)
	return v
}

// program puts drover-run where harnesses find it.
func (v *vm) program(t *testing.T) {
	t.Helper()
	bin := filepath.Join(v.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o711))
	require.NoError(t, os.Chmod(bin, 0o711))
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Link(self, filepath.Join(bin, boxrun.Name)))
	require.NoError(t, os.Chmod(bin, 0o711))
}

// harness runs a shell script that may use the box.
func (v *vm) harness(t *testing.T, script string) (agent.Exit, output) {
	t.Helper()
	return v.sh(t, script, func(r *agent.Run) {
		r.Harness = true
		r.Env = []string{"PATH=/usr/bin:/bin:" + filepath.Join(v.dir, "bin"), "GORACE=atexit_sleep_ms=0", "DROVER_SECRET=in the environment"}
	})
}

// lines runs a harness that must go well and returns what it printed.
func (v *vm) lines(t *testing.T, script string) []string {
	t.Helper()
	exit, o := v.harness(t, script)
	require.Zero(t, exit.Code, "%s\n%s", o.out, o.err)
	require.Empty(t, string(o.err))
	return strings.Split(strings.TrimSuffix(string(o.out), "\n"), "\n")
}

// boxed are harnesses and what they print.
var boxed = map[string]struct{ script, want string }{
	"it runs":             {`drover-run -- echo hello; echo $?`, "hello\n0\n"},
	"its code":            {`drover-run -- sh -c 'exit 7'; echo $?`, "7\n"},
	"its signal":          {`drover-run -- sh -c 'kill -9 $$'; echo $?`, "137\n"},
	"its streams":         {`drover-run -- sh -c 'echo out; echo err >&2' 2>&1 >/dev/null`, "err\n"},
	"no input":            {`echo secret | drover-run -- wc -c`, "0\n"},
	"input from a file":   {`echo secret >in; drover-run --stdin in -- cat`, "secret\n"},
	"input as it comes":   {`echo secret | drover-run --stdin - -- cat`, "secret\n"},
	"input not taken":     {`yes | drover-run --stdin - -- echo done; echo $?`, "done\n0\n"},
	"its time":            {`drover-run --time 50ms -- sh -c 'while :; do :; done'; echo $?`, "124\n"},
	"its time by a clock": {`drover-run --wall 50ms -- sleep 100; echo $?`, "124\n"},
	"its output":          {`drover-run --output 1K -- sh -c 'head -c 5000 /dev/zero' | wc -c`, "1024\n"},
	"too much output":     {`drover-run --output 1K -- sh -c 'head -c 5000 /dev/zero' >/dev/null; echo $?`, "137\n"},
	"not there":           {`drover-run -- no-such-program 2>/dev/null; echo $?; drover-run -- ./not/there 2>/dev/null; echo $?`, "127\n127\n"},
	"not to execute":      {`drover-run -- /etc/passwd 2>/dev/null; echo $?`, "126\n"},
	"wrong flags":         {`drover-run --memory lots -- true 2>/dev/null; echo $?; drover-run 2>/dev/null; echo $?; drover-run --with nothing -- true 2>/dev/null; echo $?`, "125\n125\n125\n"},
	"an empty folder":     {`drover-run -- sh -c 'echo x >left; mkdir -p a/b; touch a/b/c; ls'; drover-run -- ls -A`, "a\nleft\n"},
	"what was submitted":  {`drover-run -- sh -c 'cat "$DROVER_SUBMISSION/sub/a"'; echo; drover-run -- sh -c 'echo >"$DROVER_SUBMISSION/sub/a"' 2>/dev/null || echo refused`, "submitted\nrefused\n"},
	"its environment":     {`drover-run --env GIVEN=yes -- env | grep -c SECRET; drover-run --env GIVEN=yes -- env | grep GIVEN`, "0\nGIVEN=yes\n"},
	"a state":             {`drover-run --save built -- sh -c 'echo one >f; ln -s f l'; for i in 1 2; do drover-run --with built -- sh -c 'cat l; echo two >f'; done`, "one\none\n"},
	"a state made anew":   {`drover-run --save built -- touch a; drover-run --with built --save built -- touch b; drover-run --with built -- ls`, "a\nb\n"},
	"no failure forged":   {`drover-run --usage u -- sh -c 'exit 125'; echo $?; grep -c '"exit":125' u; drover-run --usage v --with none -- true 2>/dev/null; echo $?; wc -c <v`, "125\n1\n125\n0\n"},
	"nothing left alive": { // where ps sees all of the machine, others sleep as well
		`s=1000.$(date +%N); drover-run -- sh -c "setsid sleep $s & echo started"; drover-run -- sh -c "ps -e -o args= 2>/dev/null | grep -c '^sleep $s'"`, "started\n0\n",
	},
	"one after the other": {`for i in 1 2 3 4; do drover-run -- sh -c 'ls -A; echo x >f; sleep 0.01; ls -A' & done; wait`, "f\nf\nf\nf\n"},
	"it goes with its caller": {
		`drover-run -- sh -c 'trap "" TERM; sleep 1000' & sleep 0.1; kill $!; wait $!; drover-run -- echo free`, "free\n",
	},
}

func TestBox(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := grading(t, kind)
		require.NoError(t, v.client.Stage(context.Background(), "submission", packed(t, map[string]string{"sub/a": "submitted"})))
		for name, c := range boxed {
			t.Run(name, func(t *testing.T) {
				exit, o := v.harness(t, c.script)
				assert.Equal(t, c.want, string(o.out), "%+v %s", exit, o.err)
				status, err := v.client.Status(context.Background())
				require.NoError(t, err)
				assert.Zero(t, status.Processes)
			})
		}
	})
}

// A harness may call it as often as it likes.
func TestBoxOften(t *testing.T) {
	t.Parallel()
	v := grading(t, inside)
	assert.Len(t, v.lines(t, `i=0; while [ $i -lt 100 ]; do i=$((i+1)); drover-run -- echo $i; done`), 100)
	assert.Len(t, v.lines(t, `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do drover-run -- echo $i & done; wait`), 20, "at a time")
}

// What a run used is told, as it is of that run alone.
func TestBoxUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := grading(t, kind)
		got := v.lines(t, `drover-run --usage u --time 60ms -- sh -c 'while :; do :; done'; drover-run --usage u --memory 64M --pids 8 -- true; cat u`)
		require.Len(t, got, 2)
		var one struct {
			Exit  int    `json:"exit"`
			Limit string `json:"limit"`
			CPUMs int64  `json:"cpu_ms"`
			By    string `json:"harness_held_by"`
		}
		require.NoError(t, json.Unmarshal([]byte(got[0]), &one))
		assert.Equal(t, 124, one.Exit)
		assert.Equal(t, "time", one.Limit)
		assert.Positive(t, one.CPUMs)
		assert.Contains(t, map[string]string{plain: "user landlock", inside: "user", single: "landlock"}[kind], one.By, "a kernel without Landlock has nothing")
		require.NoError(t, json.Unmarshal([]byte(got[1]), &one))
		assert.Zero(t, one.Exit)
	})
}

// A harness that ends, or whose time is up, takes what runs in the box along.
func TestBoxEndsWithItsHarness(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := grading(t, kind)
		exit, o := v.harness(t, `drover-run -- sh -c 'echo begun; sleep 1000' >out & while ! [ -s out ]; do sleep 0.01; done; echo ended`)
		assert.Equal(t, "ended\n", string(o.out), "%+v %s", exit, o.err)
		status, err := v.client.Status(context.Background())
		require.NoError(t, err)
		assert.Zero(t, status.Processes)
		_, o = v.sh(t, fmt.Sprintf(`ls -A %s/box; drover-run -- true`, v.home), func(r *agent.Run) { r.Env = []string{"PATH=/usr/bin:/bin:" + filepath.Join(v.dir, "bin")} })
		assert.Contains(t, string(o.err), "only a harness can call it")
	})
}

// What a run left is gone, however it is made, and who hands the harness's output on
// waits until a disk that was filled up has room again.
func TestBoxIsTidied(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := grading(t, kind)
		scratch := v.config.Scratch[0]
		script := `mkdir "$S/mine" 2>/dev/null && cd "$S/mine"; i=0; while [ $i -lt 300 ]; do i=$((i+1)); mkdir d; cd d; done; : >f; chmod 0 .; cd "$HOME"; mkdir -p a/b; ln -s / a/b/l; mkfifo p; chmod 0 a .`
		for range 2 {
			assert.Equal(t, []string{"0"}, v.lines(t, "export S="+scratch+`; drover-run --env S="$S" -- sh -c '`+script+`'; echo $?`))
			assert.Equal(t, []string{"."}, v.lines(t, `drover-run -- find .`))
			entries, err := os.ReadDir(scratch)
			require.NoError(t, err)
			assert.Empty(t, entries)
		}
	})
}

// A harness that puts something else in the place of its box has nothing emptied but that.
func TestBoxIsNotLookedUp(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := grading(t, kind)
		precious := filepath.Join(v.home, "work", "precious")
		_, _ = v.harness(t, `: >precious; drover-run -- sh -c 'echo up; sleep 0.2' >out & while ! [ -s out ]; do sleep 0.01; done; mv ../box ../away; ln -s work ../box; wait`)
		assert.FileExists(t, precious)
	})
}

func TestBoxOnAFullDisk(t *testing.T) {
	t.Parallel()
	v := prepare(t, inside, nil)
	v.cmd.Env = append(v.cmd.Env, diskEnv+"="+v.home)
	v.boot(t)
	require.NoError(t, v.client.Assign(context.Background(), "r1-1.t1"))
	v.program(t)
	got := v.lines(t, `drover-run --output 64K -- sh -c 'cat /dev/zero >f; head -c 60000 /dev/zero' 2>/dev/null >out; echo $?; wc -c <out; drover-run -- ls -A`)
	assert.Equal(t, []string{"0", "60000"}, got)
}
