package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/agent"
	_ "drover/core/agent/boot" // the test binary is the agent, too
	"drover/core/agent/wire"
	"drover/vmfactory"
	"drover/vmfactory/fake"
	"drover/vmfactory/local"
	"drover/vmfactory/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a provider on a folder of its own.
func open(t *testing.T, cgroup string) (*local.Provider, string) {
	t.Helper()
	folder := t.TempDir()
	p, err := local.New(local.Config{Run: folder, Cgroup: cgroup})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	err = p.Ready(t.Context())
	providertest.Need(t, err == nil, fmt.Sprintf("a machine that can make VMs: %v", err))
	return p, folder
}

func pool() core.Pool { return core.DefaultPool("p") }

// patient gives what runs in a VM the time that it takes on a busy machine.
type patient struct{ *local.Provider }

func (p patient) Create(ctx context.Context, id string, pool core.Pool) error {
	pool.Limits.Timeout = 10 * time.Minute
	return p.Provider.Create(ctx, id, pool)
}

func verdicts(s core.SelfTest) map[string]core.Verdict {
	all := map[string]core.Verdict{}
	for _, a := range s.Attacks {
		all[a.Name] = a.Verdict
	}
	return all
}

func TestHolds(t *testing.T) {
	t.Parallel()
	for name, cgroup := range map[string]string{"as it is": "", "without cgroups": local.CgroupsOff} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, folder := open(t, cgroup)
			res := Run(t.Context(), patient{p}, folder, pool(), "trial")
			t.Logf("%d ms", res.TookMs)
			memory := core.VerdictHeld
			for _, l := range p.Limits() {
				if l.Name == "memory" && l.Weak {
					memory = core.VerdictWeak
				}
			}
			want := map[string]core.Verdict{
				"fork bomb": core.VerdictHeld, "network": core.VerdictHeld, "output flood": core.VerdictHeld, "disk fill": core.VerdictHeld, "memory hog": memory,
			}
			assert.Equal(t, want, verdicts(res), "%+v", res)
			assert.Empty(t, res.Fault)
			assert.Equal(t, memory, res.Verdict())
			assert.Equal(t, memory == core.VerdictHeld, res.Reason() == "")
			all, err := p.List(t.Context())
			require.NoError(t, err)
			assert.Empty(t, all)
		})
	}
}

// lax is a host on which the limits that a VM was made with are not in force.
type lax struct{ patient }

func (l lax) Create(ctx context.Context, id string, pool core.Pool) error {
	pool.Limits.Memory, pool.Limits.Pids, pool.Limits.Disk, pool.Limits.FileSize, pool.Limits.Output = 1<<30, 400, 80<<20, 80<<20, 1<<20
	return l.patient.Create(ctx, id, pool)
}

func TestFails(t *testing.T) {
	t.Parallel()
	p, folder := open(t, "")
	res := Run(t.Context(), lax{patient{p}}, folder, pool(), "trial")
	assert.Equal(t, core.VerdictFail, res.Verdict())
	assert.Equal(t, map[string]core.Verdict{
		"fork bomb": core.VerdictFail, "network": core.VerdictHeld, "output flood": core.VerdictFail, "disk fill": core.VerdictFail, "memory hog": core.VerdictFail,
	}, verdicts(res), "%+v", res)
	assert.Regexp(t, `^fork bomb: .*limit is 32$`, res.Reason())
}

func TestJudges(t *testing.T) {
	t.Parallel()
	lo := "Inter-|   Receive | Transmit\n face |bytes    packets|bytes\n    lo:    0       0\n"
	for name, c := range map[string]struct {
		judge func(*trial, run) (core.Verdict, string)
		peak  int
		run   run
		want  core.Verdict
	}{
		"own loopback":        {(*trial).network, 0, run{stdout: lo + "route Iface\tDestination\n"}, core.VerdictHeld},
		"an idle tunnel":      {(*trial).network, 0, run{stdout: lo + "tunl0:  0  0  0\n"}, core.VerdictHeld},
		"the host's card":     {(*trial).network, 0, run{stdout: lo + "  eth0: 1203 44 0\n"}, core.VerdictFail},
		"a route":             {(*trial).network, 0, run{stdout: lo + "route Iface\nroute eth0\t00000000\t0101A8C0\n"}, core.VerdictFail},
		"no word":             {(*trial).network, 0, run{Exit: agent.Exit{Code: 2}}, core.VerdictWeak},
		"many at once":        {(*trial).processes, 120, run{}, core.VerdictFail},
		"watched processes":   {(*trial).processes, 20, run{Exit: agent.Exit{PidsExceeded: true, HeldBy: map[string]string{core.LimitPids: wire.HeldByWatchdog}}, stdout: through}, core.VerdictWeak},
		"flood that ends":     {(*trial).output, 0, run{Exit: agent.Exit{Code: 0}, bytes: 9}, core.VerdictFail},
		"flood not cut":       {(*trial).output, 0, run{Exit: agent.Exit{Truncated: true, OutputExceeded: true}, bytes: 1 << 20}, core.VerdictFail},
		"full by memory":      {(*trial).disk, 0, run{Exit: agent.Exit{MemoryExceeded: true}}, core.VerdictHeld},
		"disk not tried":      {(*trial).disk, 0, run{Exit: agent.Exit{Code: 2}}, core.VerdictWeak},
		"memory without end":  {(*trial).memory, 0, run{}, core.VerdictFail},
		"memory, but judged":  {(*trial).memory, 0, run{Exit: agent.Exit{Code: 137, MemoryExceeded: true}, stdout: through}, core.VerdictHeld},
		"memory and no judge": {(*trial).memory, 0, run{stdout: through}, core.VerdictFail},
	} {
		got, why := c.judge(&trial{peak: c.peak}, c.run)
		assert.Equal(t, c.want, got, "%s: %s", name, why)
		assert.Equal(t, got == core.VerdictHeld, why == "", "%s: %s", name, why)
	}
}

func TestCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]fake.Step{"create": fake.Create, "prepare": fake.Prepare, "destroy": fake.Destroy, "list": fake.List} {
		p := fake.New("fake")
		p.Break(step, fake.Fault{Err: errors.New("out of order")})
		res := Run(t.Context(), p, t.TempDir(), pool(), "trial")
		assert.Equal(t, core.VerdictFail, res.Verdict(), name)
		assert.Contains(t, res.Reason(), "could not be made", name)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	p, folder, made, fault := fake.New("fake"), t.TempDir(), 0, ""
	m := Memory{Run: folder, Version: "1", run: func(context.Context, vmfactory.Provider, string, core.Pool, string) core.SelfTest {
		made++
		return core.SelfTest{At: int64(made), Fault: fault, Attacks: make([]core.SelfCheck, len(attacks))}
	}}
	first := m.Trial(t.Context(), p, pool(), "trial")
	assert.Contains(t, first.Of, "drover 1, Linux ")
	assert.Equal(t, first, m.Trial(t.Context(), p, pool(), "trial"), "it is remembered")
	assert.Equal(t, 1, made)
	m.Version = "2"
	second := m.Trial(t.Context(), p, pool(), "trial")
	assert.Equal(t, 2, made, "another version is tested again")
	assert.NotEqual(t, first.Of, second.Of)
	path := filepath.Join(folder, "selftest-fake.json")
	for _, text := range []string{"", "nonsense", `{"of":"` + second.Of + `","attacks":[]}`, strings.Repeat(" ", maxMemory+1)} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		was := made
		m.Trial(t.Context(), p, pool(), "trial")
		assert.Equal(t, was+1, made, "what cannot be read is not believed")
	}
	require.NoError(t, os.Remove(path))
	fault = "something"
	for range 2 {
		was := made
		assert.Equal(t, core.VerdictFail, m.Trial(t.Context(), p, pool(), "trial").Verdict())
		assert.Equal(t, was+1, made)
		assert.NoFileExists(t, path, "a failure is not remembered")
	}
}
