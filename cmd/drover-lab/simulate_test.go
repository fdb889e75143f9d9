package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core/cluster/simulate"
	"drover/core/config"
	"drover/core/coretest"
	"drover/core/store/storetest"
)

// The whole report of four requests on one host: two find its warm VMs, one waits for the next, one comes later.
func TestTheReportOfATinyTrace(t *testing.T) {
	t.Parallel()
	const trace = `{"at_ms":0,"pool":"p","submitter":"ann","run_ms":1000}
{"at_ms":0,"pool":"p","submitter":"ann","run_ms":1000}
{"at_ms":0,"pool":"p","priority":"high","submitter":"bob","run_ms":500,"due_ms":2000}
{"at_ms":9000,"pool":"p","submitter":"ann","run_ms":1000,"due_ms":9500}
`
	const want = `                                      AS SET
 requests                             4
 hosts                                1
 lasts                                10s
 found a clean VM at once             75.0 %
 cold starts                          1
 wait p50                             0s
 wait p95                             2s
 wait p99                             2s
 longest wait                         2s
 ended after they were due            2
 VMs made                             5
 VM-hours warm                        0.0
 VM-hours in the making               0.0
 VM-hours busy                        0.0
 VMs used, of their time              14.9 %
 slots used                           4.4 %
 memory taken by VMs                  3.7 %
 submitters                           2
 fairness (Jain's index)              0.692
 p95 wait of the worst off submitter  2s
 p95 wait of the middle one           0s

waits, as set
 OF                REQUESTS  COLD STARTS  WAIT P50  P95  P99  LONGEST
 pool      p              4            1  0s        2s   2s   2s
 priority  high           1            1  2s        2s   2s   2s
 priority  normal         3            0  0s        0s   0s   0s
 who sent  1 to 9         4            1  0s        2s   2s   2s
`
	var got, errs strings.Builder
	code := typeIn(context.Background(), []string{"simulate", "-", "--hosts", "1"}, strings.NewReader(trace), &got, &errs)
	require.Zero(t, code, errs.String())
	require.Equal(t, want, got.String())
}

// The block of docs/operations.md runs as it stands, in a shell: traces by name, from a file and from a cluster's history.
func TestWhatWouldHappenIsTyped(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		coretest.Missing(t, "bash", err)
	}
	dir, b := t.TempDir(), coretest.Real(t)
	env := []string{"DROVER_DATA=" + dir, "DROVER_REDIS=" + b.URL, "DROVER_NAMESPACE=" + b.Namespace, "DROVER_HOST=h1"}
	coretest.NewCluster(t, b.Open(t), "h1", "default")
	cfg, err := config.Load(nil, env)
	require.NoError(t, err)
	h, err := access.OpenCluster(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })

	simulated := func(args ...string) (stdout, stderr string, code int) {
		var out, errs bytes.Buffer
		args = append([]string{"simulate", "--data", dir, "--redis", b.URL, "--namespace", b.Namespace}, args...)
		code = typeIn(t.Context(), args, nil, &out, &errs)
		return out.String(), errs.String(), code
	}
	_, errs, code := simulated("--from-history")
	require.Equal(t, terminal.ExitNotFound, code)
	require.Contains(t, errs, "nothing ran")
	for _, pool := range []string{"default", "gone"} {
		spec := storetest.Spec("ann")
		spec.Pool, spec.Submitted = pool, time.Now().UnixMilli()
		_, _, err := h.Store.Create(t.Context(), spec)
		require.NoError(t, err)
		_, err = h.Store.Record(t.Context(), storetest.Result(spec, "1.1"))
		require.NoError(t, err)
	}

	docs, err := os.ReadFile("../../docs/operations.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```sh\n(drover-lab simulate --list.*?)```").FindSubmatch(docs)
	require.NotNil(t, block)
	own, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(own, filepath.Join(dir, "drover-lab")))
	cmd := exec.CommandContext(t.Context(), bash, "-eu", "-c", string(block[1]))
	cmd.Dir, cmd.Env = dir, append(env, "PATH="+dir+":"+os.Getenv("PATH"), asProgram+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, want := range []string{"quiet-week", "FIXED, 2 ON EACH HOST", "LEARNING, UP TO 32", "VM-hours warm", "95.1 %", "98.4 %", "1 requests of pools that are gone are left out"} {
		require.Contains(t, string(out), want)
	}
	drawn, err := os.ReadFile(filepath.Join(dir, "rush.svg"))
	require.NoError(t, err)
	require.Contains(t, string(drawn), "Simulation of deadline-rush")

	type report struct {
		Trace string
		Runs  []simulate.Named
	}
	reported := func(args ...string) (r report) {
		out, errs, code := simulated(append(args, "--json")...)
		require.Zero(t, code, errs)
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		return r
	}
	ran := reported("--from-history", "--hosts", "1")
	require.Equal(t, "the last 24h0m0s", ran.Trace)
	require.Equal(t, 1, ran.Runs[0].Requests)
	require.Equal(t, 1, ran.Runs[0].Hosts)
	printed, errs, code := simulated("--from-history", "--print", "--hosts", "1")
	require.Zero(t, code, errs)
	require.Contains(t, printed, `"submitter":"s1"`)
	compared := reported("contest", "--compare", "--warm", "1", "--learn", "9")
	require.Equal(t, "fixed, 1 on each host", compared.Runs[0].Name)
	require.Equal(t, "learning, up to 9", compared.Runs[1].Name)
}

func TestWrongSimulationsAreRefused(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte("\n{\"at_ms\":1}\n"), 0o600))
	for args, want := range map[string]string{
		bad:                         "line 2 of the trace",
		"nosuch":                    "drover-lab simulate --list",
		"burst --hosts 0":           "between 1 and 5000 hosts",
		"burst --memory much":       "is not a size",
		"burst --strategy tight":    "strategy",
		"burst --goals 15s --svg x": "--goals goes with neither",
	} {
		var out, errs bytes.Buffer
		code := typeIn(t.Context(), append([]string{"simulate"}, strings.Fields(args)...), nil, &out, &errs)
		require.NotZero(t, code, args)
		require.Contains(t, errs.String(), want, args)
		require.Empty(t, out.String(), args)
	}
}
