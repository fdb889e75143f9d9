package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
)

// The shipped supervisord.conf, with the real supervisord and a real redis-server, runs jobs.
func TestSupervisordConfRunsJobs(t *testing.T) {
	supervisord, err := exec.LookPath("supervisord")
	if err != nil {
		coretest.Missing(t, "supervisord", err)
	}
	h := newTestHerd(t)
	h.pool()
	h.env[0] = "PATH=" + filepath.Dir(h.path) + ":" + os.Getenv("PATH")
	h.env = append(h.env, "DROVER_LOGS="+h.cfg.Data)
	conf, err := filepath.Abs("../../supervisord.conf")
	require.NoError(t, err)
	s := &process{h: h, cmd: exec.Command(supervisord, "-n", "-c", conf), done: make(chan struct{})}
	s.cmd.Env, s.cmd.SysProcAttr = h.env, &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, s.cmd.Start())
	go func() {
		_ = s.cmd.Wait() // its code says nothing
		close(s.done)
	}()
	t.Cleanup(func() {
		s.signal(syscall.SIGTERM)
		s.await()
		if t.Failed() {
			logs, _ := filepath.Glob(filepath.Join(h.cfg.Data, "*.log"))
			for _, log := range logs {
				text, _ := os.ReadFile(log)
				t.Logf("%s:\n%s", filepath.Base(log), text)
			}
		}
	})
	ids := h.submit(20, "echo", "hello")
	h.awaitLeft(0)
	h.requireOnce(ids)
	require.Eventually(t, func() bool {
		owners, err := h.herd.redis.ListOwners(context.Background())
		require.NoError(t, err)
		roles := map[core.Role]bool{}
		for _, o := range owners {
			roles[o.Role] = true
		}
		return roles[core.RoleTestrunner] && roles[core.RoleVMFactory] && roles[core.RoleTaskrunner]
	}, patience, 50*time.Millisecond)
	s.signal(syscall.SIGTERM)
	s.await()
	owners, err := h.herd.redis.ListOwners(context.Background())
	require.NoError(t, err)
	require.Empty(t, owners, "all components stopped cleanly")
	h.requireNothingLeft()
}
