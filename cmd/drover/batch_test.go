package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/requests"
)

// A batch of a job type, from its file to its results.
func TestBatchOfAJobType(t *testing.T) {
	t.Parallel()
	h, up := newUpCluster(t)
	do := func(args ...string) string {
		t.Helper()
		out, errs, code := h.run(args...)
		require.Zero(t, code, errs)
		return out
	}
	do("type", "set", "--timeout", "5s", "--env", "GREETING=hello", "greet", "--", "sh", "-c", `echo "$GREETING $(cat)" $(cat all.txt own.txt 2>/dev/null)`)
	require.Contains(t, do("type", "list"), "greet")
	require.Contains(t, do("type", "show", "greet"), "GREETING=hello")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"all.txt": "all", "own.txt": "own",
		"jobs.yaml": "type: greet\nfiles: [all.txt]\njobs:\n- stdin: one\n- {stdin: two, env: [GREETING=bye], files: [own.txt]}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	id := strings.TrimSpace(do("batch", "submit", "--key", "k", filepath.Join(dir, "jobs.yaml")))
	require.Equal(t, id, strings.TrimSpace(do("batch", "submit", "--key", "k", filepath.Join(dir, "jobs.yaml"))))
	show := func() (v requests.BatchView) {
		require.NoError(t, json.Unmarshal([]byte(do("batch", "show", "--json", id)), &v))
		return v
	}
	await(t, "the batch completes", func() bool { return show().State == requests.BatchCompleted })
	require.Contains(t, do("batch", "show", id), "completed")
	var results []requests.JobResult
	require.NoError(t, json.Unmarshal([]byte(do("batch", "results", "--json", id)), &results))
	require.Equal(t, []string{"hello one all\n", "bye two allown\n"}, []string{results[0].Stdout, results[1].Stdout})
	require.Contains(t, do("batch", "results", id), "bye two allown")
	require.Contains(t, do("batch", "results", "--limit", "1", id), "drover batch results --from 1 "+id)
	require.Contains(t, do("batch", "list"), id)
	next := strings.TrimSpace(do("batch", "rerun", id))
	require.Contains(t, do("batch", "show", next), id)
	_, errs, code := h.run("batch", "cancel", id)
	require.NotZero(t, code)
	require.Contains(t, errs, "have ended")

	require.Contains(t, do("run", "--type", "greet", "--stdin", filepath.Join(dir, "all.txt")), "hello all")
	_, errs, code = h.run("run", "--type", "greet", "--timeout", "6s", "--", "rm")
	require.NotZero(t, code)
	require.Contains(t, errs, "leave the command out")

	bad := filepath.Join(dir, "bad.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("type: greet\njobs: [{}, {env: ['='], limits: {timeout_ns: 6000000000}}]\n"), 0o600))
	_, errs, code = h.run("batch", "submit", bad)
	require.NotZero(t, code)
	require.Contains(t, errs, "jobs[1].env: ")
	require.Contains(t, errs, "jobs[1].limits.timeout_ns: ")
	require.NoError(t, os.WriteFile(bad, []byte("jbs: []\n"), 0o600))
	_, errs, code = h.run("batch", "submit", bad)
	require.NotZero(t, code)
	require.Contains(t, errs, "jbs")
	do("type", "delete", "greet")
	await(t, "the second batch completes", func() bool { id = next; return show().State == requests.BatchCompleted })
	up.stop()
	h.requireNothingLeft()
}
