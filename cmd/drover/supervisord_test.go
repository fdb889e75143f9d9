package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	h.env = append(h.env, "DROVER_LOGS="+h.cfg.Data, "DROVER_LISTEN=127.0.0.1:0")
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
	requireSite(t, filepath.Join(h.cfg.Data, "web.log"))
	s.signal(syscall.SIGTERM)
	s.await()
	owners, err := h.herd.redis.ListOwners(context.Background())
	require.NoError(t, err)
	require.Empty(t, owners, "all components stopped cleanly")
	h.requireNothingLeft()
}

// requireSite waits until a log says where the site is, and asks it how it is.
func requireSite(t *testing.T, log string) {
	t.Helper()
	said := regexp.MustCompile(`the site is at (http://\S+)`)
	var at []string
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(log) // not there yet
		at = said.FindStringSubmatch(string(text))
		return at != nil
	}, patience, 50*time.Millisecond)
	answer, err := http.Get(at[1] + "/healthz")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}
