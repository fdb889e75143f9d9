package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/demo"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
	"drover/examples"
)

// newUpCluster starts drover up on its embedded Redis.
func newUpCluster(t *testing.T, settings ...string) (*testCluster, *process) {
	t.Helper()
	h := newTestCluster(t, append(calm, settings...)...)
	// The embedded Redis is chosen by not naming one.
	var env []string
	for _, line := range h.env {
		if !strings.HasPrefix(line, "DROVER_REDIS=") {
			env = append(env, line)
		}
	}
	h.env = env
	return h, h.up()
}

// up starts a cluster in one process. None of its parts dies alone, and none is to be taken
// for dead because the machine is busy.
func (h *testCluster) up(args ...string) *process {
	h.t.Helper()
	p := h.with(calm...).start(append([]string{"up"}, args...)...)
	await(h.t, "the cluster is up", func() bool { return strings.Contains(p.said(), "the cluster is up") })
	h.said("host", "list")
	return p
}

func TestRunExitsAsTheCommandDoes(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h, up := newUpCluster(t)
	file := filepath.Join(h.cfg.Data, "note.txt")
	require.NoError(t, os.WriteFile(file, []byte("a note\n"), 0o600))
	for name, test := range map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string // a pattern
	}{
		"good":       {[]string{"run", "--", "echo", "hello"}, 0, "hello\n", `^$`},
		"own code":   {[]string{"run", "--", "sh", "-c", "echo bad >&2; exit 7"}, 7, "", `^bad\n$`},
		"time limit": {[]string{"run", "--timeout", "200ms", "--", "sleep", "60"}, 124, "", `time limit of 200ms`},
		"signal":     {[]string{"run", "--", "sh", "-c", "kill -TERM $$"}, 143, "", `SIGTERM`},
		"no program": {[]string{"run", "--", "no-such-program"}, 127, "", `no-such-program`},
		"file":       {[]string{"run", "--file", file, "--", "cat", "note.txt"}, 0, "a note\n", `^$`},
		"stdin":      {[]string{"run", "--stdin", file, "--", "cat"}, 0, "a note\n", `^$`},
		"env":        {[]string{"run", "--env", "WORD=bird", "--", "sh", "-c", "echo $WORD"}, 0, "bird\n", `^$`},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := h.run(test.args...)
			require.Equal(t, test.code, code, stderr)
			require.Equal(t, test.stdout, stdout)
			require.Regexp(t, test.stderr, stderr)
		})
	}
	id := strings.TrimSpace(h.said("run", "--no-wait", "--", "sh", "-c", "echo later; exit 3"))
	require.True(t, core.ValidName(id), id)
	h.awaitLeft(0)
	require.Equal(t, "later\n", h.said("request", "output", id))
	up.stop()
	h.requireNothingLeft()
}

// What cannot run is refused before anything waits for it.
func TestRunIsRefused(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{terminal.ExitUsage, "no command to run", nil},
		{terminal.ExitNotFound, "there is no pool nowhere", []string{"--pool", "nowhere", "--", "true"}},
		{terminal.ExitUsage, "high, normal or low", []string{"--priority", "best", "--", "true"}},
		{terminal.ExitUsage, "64MiB", []string{"--memory", "lots", "--", "true"}},
		{terminal.ExitUsage, "more than pool default allows", []string{"--memory", "100GiB", "--", "true"}},
		{terminal.ExitUsage, "nosuch", []string{"--nosuch"}},
		{terminal.ExitUsage, "--poll", []string{"--poll", "soon", "--", "true"}},
		{terminal.ExitUsage, "/no/such/file", []string{"--file", "/no/such/file", "--", "true"}},
		{terminal.ExitUsage, "do not go together", []string{"--embedded", "--no-wait", "--", "true"}},
	} {
		h.refused(c.code, c.want, append([]string{"run"}, c.args...)...)
	}
	require.Zero(t, h.unfinished())
}

func TestClientCommands(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h, up := newUpCluster(t)
	stdout, stderr, code := h.run("run", "--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
	require.Equal(t, 3, code, stderr)
	var result map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &result))
	for _, key := range []string{
		"id", "state", "blame", "reason", "exit_code", "signal", "stdout", "stderr", "truncated", "score", "max_score",
		"tests", "attempt", "host", "pool", "vm", "times", "usage",
	} {
		require.Contains(t, result, key)
	}
	require.Equal(t, "completed", result["state"])
	require.Equal(t, "out\n", result["stdout"])
	require.Equal(t, "err\n", result["stderr"])
	for _, key := range []string{"cpu_ms", "wall_ms", "memory_peak_bytes"} {
		require.Contains(t, result["usage"], key)
	}
	for _, key := range []string{"queued", "claimed", "started", "finished"} {
		require.Contains(t, result["times"], key)
	}
	id := result["id"].(string)
	out, errs, code := h.run("request", "output", id)
	require.Zero(t, code)
	require.Equal(t, "out\n", out)
	require.Equal(t, "err\n", errs)
	_, errs, code = h.run("request", "rerun", id)
	require.Zero(t, code, errs)
	h.awaitLeft(0)
	row, err := h.cluster.Store.Get(context.Background(), id)
	require.NoError(t, err)
	require.Equal(t, 2, row.Result.Generation)

	text, errs, code := h.run("request", "show", "--json", id)
	require.Zero(t, code, errs)
	var shown struct {
		Attempts []map[string]any `json:"attempts"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &shown))
	require.Len(t, shown.Attempts, 2)
	for _, key := range []string{"result", "accepted", "recorded_ms"} {
		require.Contains(t, shown.Attempts[0], key)
	}
	for _, args := range [][]string{
		{"pool", "set", "--warm", "1", "--memory", "64MiB", "--paused=false", "other"},
		{"run", "--pool", "other", "--", "true"}, // of a pool that was set since the cluster is up
	} {
		text, errs, code := h.run(args...)
		require.Zero(t, code, "%v: %s%s", args, text, errs)
	}
	h.refused(terminal.ExitRefused, "ended", "request", "cancel", id)
	h.refused(terminal.ExitRefused, "h1", "host", "forget", "h1")
	up.stop()
	h.requireNothingLeft()
}

// What looks at a cluster prints words for people, and JSON for programs.
func TestWhatLooksAtAClusterPrintsJSON(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.fake("h1", 1)
	id := h.submit(1, "true")[0]
	for _, args := range [][]string{
		{"request", "list"},
		{"request", "show", id},
		{"vm", "list"},
		{"host", "list"},
		{"host", "show", "h1"},
		{"pool", "list"},
		{"pool", "show", "default"},
		{"overseer", "--once"},
		{"doctor"},
	} {
		text, errs, _ := h.run(args...) // doctor finds that nobody works here
		require.Equal(t, args[0] == "overseer", text == "", "%v: %s%s", args, text, errs)
		require.False(t, json.Valid([]byte(text)), "%v", args)
		text, errs, _ = h.run(append(args, "--json")...)
		require.True(t, json.Valid([]byte(text)), "%v printed %s%s", args, text, errs)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"request", "show", "nobody"}, terminal.ExitNotFound, "nobody"},
		{[]string{"request", "show"}, terminal.ExitUsage, "one argument"},
		{[]string{"request", "list", "--state", "gone"}, terminal.ExitUsage, "the state \"gone\" is none"},
		{[]string{"pool", "show", "nowhere"}, terminal.ExitNotFound, "nowhere"},
		{[]string{"pool", "set", "--warm", "9", "--max", "3", "default"}, terminal.ExitUsage, "warm 9"},
		{[]string{"pool", "set", "--max", "0", "default"}, terminal.ExitUsage, "max 0"},
		{[]string{"pool", "set", "--pids", "99999999999", "default"}, terminal.ExitUsage, "pids"},
		{[]string{"pool", "set", "--provider", "lcx", "default"}, terminal.ExitUsage, `no provider "lcx" in this program: use local or lxc`},
		{[]string{"pool", "set", "Bad Name"}, terminal.ExitUsage, "Bad Name"},
		{[]string{"host", "drain", "nowhere"}, terminal.ExitNotFound, "nowhere"},
	} {
		h.refused(test.code, test.want, test.args...)
	}
}

func TestCtrlCCancelsForReal(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h, up := newUpCluster(t)
	p := h.start("run", "--", "sh", "-c", "echo begun; sleep 3600")
	await(t, "its output comes live", func() bool { return strings.Contains(p.said(), "begun") })
	require.Contains(t, h.said("request", "list", "--json"), `"running"`)
	p.signal(syscall.SIGINT)
	p.await()
	require.Equal(t, terminal.ExitStopped, p.cmd.ProcessState.ExitCode(), p.out)
	rows, err := h.cluster.Store.List(context.Background(), core.Filter{})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, core.RequestCancelled, rows[0].State)
	require.Equal(t, "cancelled by "+access.Operator().Handle, rows[0].Result.Reason)
	up.stop()
	h.requireNothingLeft()
}

func TestUpKeepsEverythingThroughKill(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h, up := newUpCluster(t)
	_, errs, code := h.run("pool", "set", "--paused", "default")
	require.Zero(t, code, errs)
	p := h.start("run", "--", "echo", "late")
	require.Eventually(t, func() bool { return h.unfinished() == 1 }, testTimeout, 10*time.Millisecond)
	up.kill()
	up = h.up()
	out, errs, code := h.run("pool", "show", "--json", "default")
	require.Zero(t, code, errs)
	require.Contains(t, out, `"paused": true`)
	_, errs, code = h.run("pool", "set", "--paused=false", "default")
	require.Zero(t, code, errs)
	p.await()
	require.Zero(t, p.cmd.ProcessState.ExitCode(), p.out)
	require.Contains(t, p.out.String(), "late\n")
	_, errs, code = h.run("up")
	require.Equal(t, terminal.ExitRefused, code, "a second cluster in one folder: %s", errs)
	up.stop()
	h.requireNothingLeft()
}

func TestWithoutAClusterItIsSaidHowToStartOne(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := typeIn(context.WithoutCancel(t.Context()), []string{"drover", "request", "list", "--data", t.TempDir()}, strings.NewReader(""), &out, &errs)
	require.Equal(t, terminal.ExitNoCluster, code)
	require.Contains(t, errs.String(), "drover up")
}

func TestDemoGradesEverySubmissionAsExpected(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t, neverLate)
	out, errs, code := h.run("demo")
	require.Zero(t, code, out+errs)
	for _, name := range []string{"brackets", "coins", "guess"} {
		a, err := demo.LoadAssignment(name, t.TempDir())
		require.NoError(t, err)
		left := fmt.Sprintf("drover: %s is left out", a.Title)
		if len(examples.Lacking(a.Needs)) > 0 {
			require.Contains(t, errs, left)
		} else {
			require.NotContains(t, errs, left)
			require.Contains(t, out, a.Title)
		}
	}
	require.Regexp(t, `all [0-9]+ submissions got the verdict`, out)
}

func TestSubmitPrintsTheTests(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	out, errs, code := h.run("submit", "--embedded", "--harness", "../../examples/ledger/harness",
		"--submission", "../../examples/ledger/submissions/partly-right")
	require.Zero(t, code, errs)
	require.Contains(t, out, "8 of 12 points")
	require.NotContains(t, out, "\x1b[", "colours on a terminal only")
	_, errs, code = h.run("submit", "--embedded", "--harness", h.cfg.Data, "--submission", "../../examples/ledger/submissions/right")
	require.Equal(t, terminal.ExitUsage, code)
	require.Contains(t, errs, "main")
}

func TestComponentsAnswerHealthAndMetrics(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	h.pool()
	var all []*process
	for _, role := range []string{"vmfactory", "testrunner", "taskrunner", "overseer"} {
		p := h.start(role, "--metrics-listen", "127.0.0.1:0")
		all = append(all, p)
		address := regexp.MustCompile(`address="?(127\.0\.0\.1:\d+)`)
		require.Eventually(t, func() bool { return address.MatchString(p.said()) }, testTimeout, 10*time.Millisecond)
		base := "http://" + address.FindStringSubmatch(p.said())[1]
		require.Eventually(t, func() bool {
			code, body := get(t, base+"/healthz")
			return code == http.StatusOK && strings.Contains(body, "redis")
		}, testTimeout, 50*time.Millisecond, role)
		code, body := get(t, base+"/metrics")
		require.Equal(t, http.StatusOK, code)
		for _, cluster := range []string{"drover_cluster_waiting_requests", "drover_cluster_heartbeat_late_seconds", "drover_cluster_slots"} {
			require.Equal(t, role == "overseer", strings.Contains(body, cluster), "%s: %s, which Redis is asked for", role, cluster)
		}
	}
	for _, p := range all {
		p.stop()
	}
	h.requireNothingLeft()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(body)
}
