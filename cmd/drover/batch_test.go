package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/requests"
)

// A batch of a job type, from its file to its results.
func TestBatchOfAJobType(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
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
	do("type", "delete", "greet")
	await(t, "the second batch completes", func() bool { id = next; return show().State == requests.BatchCompleted })
	up.stop()
	h.requireNothingLeft()
}

// What a batch's file says wrong is named, and nothing is half done.
func TestWrongBatchesAreRefused(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.said("type", "set", "--timeout", "5s", "greet", "--", "true")
	h.refused(terminal.ExitUsage, "leave the command out", "run", "--type", "greet", "--timeout", "6s", "--", "rm")
	good, bad := filepath.Join(t.TempDir(), "good.yaml"), filepath.Join(t.TempDir(), "bad.yaml")
	require.NoError(t, os.WriteFile(good, []byte("type: greet\njobs: [{}, {}]\n"), 0o600))
	h.said("batch", "submit", "--key", "k", good)
	require.NoError(t, os.WriteFile(bad, []byte("type: greet\njobs: [{}, {env: ['='], limits: {timeout_ns: 6000000000}}]\n"), 0o600))
	_, errs, code := h.run("batch", "submit", bad)
	require.NotZero(t, code)
	require.Contains(t, errs, "jobs[1].env: ")
	require.Contains(t, errs, "jobs[1].limits.timeout_ns: ")
	before := h.said("batch", "list", "--json")
	for text, names := range map[string][]string{
		"jobs: [\n":                    {"bad.yaml", "yaml: line"},
		"":                             {"bad.yaml", "without jobs"},
		"just text\n":                  {"bad.yaml", "line 1"},
		"command: ['true']\n":          {"without jobs"},
		"jobs: 7\n":                    {"jobs: expected array"},
		"jbs: []\njobs: [{}]\n":        {"jbs: unexpected property"},
		"command: true\njobs: [{}]\n":  {"command: expected array"},
		"jobs: [{odd: 1}, null, {}]\n": {"jobs[0].odd: unexpected property", "jobs[1]: expected object"},
		"jobs: [{}, {env: 7}, {limits: {timeout_ns: 5s}}]\n":                         {"jobs[1].env: expected array", "jobs[2].limits.timeout_ns: expected integer"},
		"command: ['true']\njobs: [{}, {limits: {memory: -5}}, {collect: [/etc]}]\n": {"jobs[1].limits.memory: a limit is negative", "jobs[2].collect: "},
		"command: ['true']\npool: gone\njobs: [{}]\n":                                {": pool: there is no pool gone"},
		"jobs: [{}, {command: ['true']}]\n":                                          {"jobs[0].command: a request needs a command or a harness"},
		"type: A B\njobs: [{}]\n":                                                    {`job type "A B" is not a valid name`},
		"harness: ../gone\njobs: [{}]\n":                                             {"harness: "},
		"command: ['true']\njobs: [{}, {files: [gone]}]\n":                           {"jobs[1].files: "},
		"command: ['true']\njobs:\n" + strings.Repeat("- {}\n", core.MaxBatchJobs+1): {"1001 jobs, at most 1000"},
	} {
		require.NoError(t, os.WriteFile(bad, []byte(text), 0o600))
		_, errs, code := h.run("batch", "submit", bad)
		require.Equal(t, 2, code, errs)
		for _, name := range names {
			require.Contains(t, errs, name)
		}
	}
	require.NoError(t, os.WriteFile(bad, []byte("type: gone\njobs: [{}]\n"), 0o600))
	_, errs, code = h.run("batch", "submit", bad)
	require.Equal(t, 3, code, errs)
	require.NoError(t, os.WriteFile(bad, []byte("type: greet\njobs: [{}]\n"), 0o600))
	_, errs, code = h.run("batch", "submit", "--key", "k", bad)
	require.NotZero(t, code)
	require.Contains(t, errs, "use another key")
	require.Equal(t, before, h.said("batch", "list", "--json"), "nothing is half done")
}
