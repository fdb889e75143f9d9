package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/operator"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/harness/languages"
	"drover/vmfactory/lxc"
)

// helloPackage is a problem package that has hello in each language among its accepted submissions.
func helloPackage(t *testing.T, which func(l *languages.Language) bool) (dir string, programs int) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("problem.yaml", "problem_format_version: legacy\nname: Hello\nlimits: {compilation_time: 120, memory: 1500}\n")
	write("data/secret/1.in", "")
	write("data/secret/1.ans", "hello\n")
	all := languages.All()
	for i := range all {
		if l := &all[i]; len(l.Suffixes) > 0 && which(l) {
			write("submissions/accepted/"+l.Code+"/"+l.Source, l.Hello+"\n")
			programs++
		}
	}
	return dir, programs
}

// verifyHello grades hello in all languages and logs how long each took.
func (h *testCluster) verifyHello(dir string, programs int, args ...string) {
	h.t.Helper()
	out, errs, _ := h.run(append([]string{"problem", "verify", "--json", "--time", "20s"}, append(args, dir)...)...)
	var found struct {
		Rows []struct {
			Path    string `json:"path"`
			Outcome string `json:"outcome"`
			CPUMs   int64  `json:"cpu_ms"`
			Memory  int64  `json:"memory_peak_bytes"`
			About   string `json:"about"`
		} `json:"rows"`
	}
	require.NoError(h.t, json.Unmarshal([]byte(out), &found), errs)
	require.Len(h.t, found.Rows, programs)
	for _, r := range found.Rows {
		h.t.Logf("| %s | %d ms | %d MiB | %s %s", filepath.Base(r.Path), r.CPUMs, r.Memory>>20, r.Outcome, r.About)
	}
	for _, r := range found.Rows {
		require.Equal(h.t, "accepted", r.Outcome, "%s: %s", r.Path, r.About)
	}
}

// Hello in each language that this machine has is accepted.
func TestHelloIsJudged(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	here := examined(t)
	dir, programs := helloPackage(t, func(l *languages.Language) bool { return here[l.Code] })
	h.verifyHello(dir, programs)
}

// The image judge has all languages, and hello in each is accepted in its VMs. It takes minutes and some gigabytes.
func TestJudgeImage(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.LXC)
	if os.Getenv("DROVER_TEST_JUDGE") == "" {
		t.Skip("it is asked for by DROVER_TEST_JUDGE=yes: it installs the packages of all languages")
	}
	if os.Geteuid() != 0 {
		coretest.Missing(t, "root", nil)
	}
	h := newTestCluster(t)
	_, errs, code := h.run("image", "build", "judge")
	require.Zero(t, code, errs)
	out, errs, code := h.run("image", "show", "judge", "--json")
	require.Zero(t, code, errs)
	var view operator.ImageView
	require.NoError(t, json.Unmarshal([]byte(out), &view))
	t.Logf("packed %d MiB, on a host %d MiB, %d files", view.Size>>20, view.Bytes>>20, view.Files)
	for _, l := range view.Languages {
		t.Logf("| %s | %s", l.Name, l.Version)
	}
	require.Len(t, view.Languages, len(languages.All()))
	h.withContainers()
	up := h.up()
	t.Cleanup(up.stop)
	_, errs, code = h.run("pool", "set", "--memory", "1600M", "--disk", "512M", "--pids", "500", "--timeout", "5m", "--max", "2",
		"judge", "--provider", lxc.Name, "--image", "judge")
	require.Zero(t, code, errs)
	dir, programs := helloPackage(t, func(*languages.Language) bool { return true })
	h.verifyHello(dir, programs, "--pool", "judge")
}

// examined are the languages of this machine.
func examined(t *testing.T) map[string]bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "sh", "-c", languages.Report(nil)).Output()
	require.NoError(t, err)
	here := map[string]bool{}
	for _, l := range languages.ParseReport(string(out)) {
		here[l.Code] = true
	}
	require.NotEmpty(t, here)
	return here
}
