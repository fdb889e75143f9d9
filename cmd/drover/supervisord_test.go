package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest"
	"drover/core/coretest/tier"
)

// The shipped supervisord.conf, with the real supervisord, a real redis-server and one
// environment for all programs, is a cluster that runs jobs without a further command.
func TestSupervisordConfRunsJobs(t *testing.T) {
	tier.OnlyInAll(t, tier.Host)
	t.Parallel()
	supervisord, err := exec.LookPath("supervisord")
	if err != nil {
		coretest.Missing(t, "supervisord", err)
	}
	// An address of this machine that is the test's own: the ports are those of the docs.
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(250), rand.IntN(256), 1+rand.IntN(250))
	h := newTestCluster(t, "DROVER_LISTEN="+address+":8080", "DROVER_METRICS_LISTEN="+address+":9420", "DROVER_PROVIDER=local", selfTested, neverLate)
	h.env[0] = "PATH=" + filepath.Dir(h.path) + ":" + os.Getenv("PATH")
	conf := coretest.SupervisordConf(t, "../..", h.cfg.Data)
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
	await(t, "all programs run", func() bool {
		cmd := exec.Command("supervisorctl", "-c", conf, "status")
		cmd.Env = h.env
		out, _ := cmd.Output() // its code says that some do not run
		return strings.Count(string(out), "RUNNING") == 5
	})
	await(t, "the pool that nobody made", func() bool {
		_, _, code := h.run("pool", "show", "default")
		return code == 0
	})
	ids := h.submit(20, "echo", "hello")
	h.awaitLeft(0)
	h.requireOnce(ids)
	for _, port := range []string{"8080", "9420", "9421", "9422", "9423"} {
		await(t, "it is well at port "+port, func() bool {
			answer, err := http.Get("http://" + address + ":" + port + "/healthz")
			if err != nil {
				return false
			}
			return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
		})
	}
	s.signal(syscall.SIGTERM)
	s.await()
	owners, err := h.cluster.Redis.ListOwners(context.Background())
	require.NoError(t, err)
	require.Empty(t, owners, "all components stopped cleanly")
	h.requireNothingLeft()
}
