package cloud_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cloud"
	"drover/core/cloud/cloudtest"
)

// running counts the processes that carry the mark of a cluster in a folder.
func running(t *testing.T, dir, cluster string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	n := 0
	for _, file := range files {
		env, err := os.ReadFile(file)
		if err == nil && bytes.Contains(env, []byte("DROVER_MACHINE="+filepath.Join(dir, cluster)+"/")) {
			n++
		}
	}
	return n
}

func TestProcess(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	cloudtest.Run(t, func(t *testing.T) cloudtest.Place {
		t.Helper()
		dir := t.TempDir()
		profile := cloud.Process{Command: []string{sleep, "1000"}, Dir: dir}
		opened := map[string]cloud.Provider{}
		t.Cleanup(func() {
			for _, p := range opened {
				all, err := p.List(context.Background())
				require.NoError(t, err)
				for _, m := range all {
					require.NoError(t, p.Terminate(context.Background(), m.Token, m.Foreign))
				}
			}
		})
		place := cloudtest.Place{
			Open: func(t *testing.T, cluster, name string) cloud.Provider {
				t.Helper()
				opened[cluster] = open(t, cluster, group(t, name, core.CloudProcess, profile))
				return opened[cluster]
			},
			Count: func(t *testing.T, cluster string) int {
				t.Helper()
				return running(t, dir, cluster)
			},
		}
		place.Half = func(t *testing.T, cluster, name string, o cloud.Order) {
			t.Helper()
			p := place.Open(t, cluster, name)
			_, err := p.Create(t.Context(), o)
			require.NoError(t, err)
			file := filepath.Join(dir, cluster, o.Token+".json")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			r := map[string]any{}
			require.NoError(t, json.Unmarshal(text, &r))
			delete(r, "pid")
			delete(r, "start")
			text, err = json.Marshal(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, text, 0o600))
		}
		return place
	})
}

// A machine ends with all that it started, and another process that has got its number is left alone.
func TestWhatAProcessStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	profile := cloud.Process{
		Command: []string{"/bin/sh", "-c", "trap '' TERM; setsid sleep 1000 & echo $DROVER_INSTANCE {{group}} $DROVER_JOIN_SECRET; wait; wait"},
		Dir:     dir,
	}
	p := cloud.Hasty(open(t, "three", group(t, "burst", core.CloudProcess, profile)))
	foreign, err := p.Create(t.Context(), cloud.Order{Token: "burst-000001", Group: "burst", Secret: "s3cret"})
	require.NoError(t, err)
	require.NoError(t, p.Terminate(t.Context(), "burst-000001", "1@another"))
	require.Equal(t, []string{"burst-000001"}, aliveOf(t, p), "that is another machine")
	require.NoError(t, p.Terminate(t.Context(), "burst-000001", foreign))
	require.Zero(t, running(t, dir, "three"))

	other := exec.Command("sleep", "1000")
	require.NoError(t, other.Start())
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	text, err := json.Marshal(map[string]any{"instance": "burst-000002", "group": "burst", "created_ms": 1, "pid": other.Process.Pid, "start": "before"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "three", "burst-000002.json"), text, 0o600))
	require.NoError(t, p.Terminate(t.Context(), "burst-000002", ""))
	require.NoError(t, other.Process.Signal(syscall.Signal(0)))
	require.Empty(t, aliveOf(t, p))
	_, err = os.Stat(filepath.Join(dir, "three", "burst-000002.json"))
	require.ErrorIs(t, err, os.ErrNotExist, "what ended long ago is forgotten")
}

func aliveOf(t *testing.T, p cloud.Provider) (tokens []string) {
	t.Helper()
	all, err := p.List(t.Context())
	require.NoError(t, err)
	for _, m := range all {
		if !m.Gone {
			tokens = append(tokens, m.Token)
		}
	}
	return tokens
}
