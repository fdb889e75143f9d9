package main

import (
	"archive/tar"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/wiring"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/vmfactory/lxc"
	vmprogram "drover/vmfactory/program"
)

// withContainers has the cluster's programs be drover with provider lxc, and what its VMs
// start, and returns where they are.
func (h *testCluster) withContainers() (dir string) {
	h.t.Helper()
	tier.Need(h.t, tier.LXC)
	if _, err := os.Stat("/usr/include/lxc/lxccontainer.h"); err != nil {
		coretest.Missing(h.t, "lxc-dev", err)
	}
	path, err := contained()
	require.NoError(h.t, err)
	h.path = path
	h.env = append(h.env, "DROVER_PROVIDER=local,lxc")
	return filepath.Dir(path)
}

// contained is drover with provider lxc, with drover-agent beside it. It is this program of
// tests if that has the provider: to link another as large takes longer than either test.
var contained = sync.OnceValues(func() (string, error) {
	dir, err := builds()
	dir = filepath.Join(dir, "lxc")
	path := filepath.Join(dir, programName)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err == nil {
		err = build(filepath.Join(dir, vmprogram.Name), "CGO_ENABLED=0", "drover/cmd/drover-agent")
	}
	if err != nil {
		return "", err
	}
	if !builtWith("-tags", "lxc") {
		return path, build(path, "CGO_ENABLED=1", "-tags", "lxc", ".")
	}
	return path, linkSelf(path)
})

// TestContainers is the way of an operator: an image, a pool, a run, by programs
// as they are installed.
func TestContainers(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.LXC)
	if os.Geteuid() != 0 {
		coretest.Missing(t, "root", nil)
	}
	h := newTestCluster(t, selfTested)
	dir := h.withContainers()
	up := h.up()

	file := filepath.Join(t.TempDir(), "image.tar")
	program, err := os.ReadFile(filepath.Join(dir, vmprogram.Name))
	require.NoError(t, err)
	f, err := os.Create(file)
	require.NoError(t, err)
	w := tar.NewWriter(f)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "usr/bin/hello", Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg}))
	_, err = w.Write(program)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, f.Close())

	for _, args := range [][]string{
		{"image", "import", "tiny", file},
		{"pool", "set", "grading", "--provider", "lxc", "--image", "tiny", "--cpu", "1", "--memory", "256M", "--disk", "512M", "--pids", "64", "--warm", "2", "--max", "4"},
	} {
		_, stderr, code := h.run(args...)
		require.Zero(t, code, "%s: %s", args, stderr)
	}
	stdout, stderr, code := h.run("run", "--pool", "grading", "--", "hello")
	require.Equal(t, 2, code, "%s%s", stdout, stderr)
	require.Contains(t, stderr, "nothing to call here", "it is the image's only program")
	stdout, stderr, code = h.run("pool", "show", "grading")
	require.Zero(t, code, stderr)
	require.Regexp(t, `cpu +1\b`, stdout)
	stdout, _, _ = h.run("doctor")
	require.Contains(t, stdout, "provider lxc")
	_, stderr, code = h.run("pool", "set", "grading", "--cpu", "0.001")
	require.Equal(t, 2, code, stderr)

	_, stderr, code = h.run("pool", "set", "lost", "--provider", "lxc", "--image", "nowhere")
	if code == 0 { // it may be refused at once
		require.Eventually(t, func() bool {
			stdout, _, _ := h.run("pool", "show", "lost")
			return strings.Contains(stdout, "broken on")
		}, testTimeout, 100*time.Millisecond, stderr)
	}
	up.stop()

	// The setting is changed while VMs exist: destroying all finds them nevertheless.
	factory := h.start("vmfactory")
	require.Eventually(t, func() bool {
		stdout, _, _ := h.run("vm", "list")
		return strings.Contains(stdout, "grading") && strings.Contains(stdout, "clean")
	}, testTimeout, 100*time.Millisecond)
	factory.stop()
	h.env = append(h.env, "DROVER_PROVIDER=local")
	stdout, stderr, code = h.run("vmfactory", "--destroy-vms")
	require.Zero(t, code, stderr)
	require.Regexp(t, `destroyed [1-9]`, stdout)
	p, err := lxc.New(lxc.Config{Run: h.cfg.Run, Images: wiring.NoImages{}})
	require.NoError(t, err)
	left, err := p.List(context.Background())
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, p.Close())
}
