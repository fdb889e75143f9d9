package main

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/doctor"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/overseer"
)

// fake is a host without processes: its owners are registered, and have what a test gives them.
type fake struct {
	h      *testCluster
	name   string
	epochs map[core.Role]int64
	seq    int64
}

// fake registers a host's testrunner and vmfactory for an hour and gives it clean VMs.
func (h *testCluster) fake(name string, vms int) *fake {
	h.t.Helper()
	ctx := context.Background()
	f := &fake{h: h, name: name, epochs: map[core.Role]int64{}}
	for _, role := range []core.Role{core.RoleTestrunner, core.RoleVMFactory} {
		reg, err := h.cluster.Redis.Register(ctx, core.Registration{
			Owner: core.OwnerName(role, name, 0), Host: name, Machine: name, Version: access.Version, Beat: time.Hour,
			CPU: 2, MemoryBytes: 8 << 30, DiskBytes: 100 << 30,
		})
		require.NoError(h.t, err)
		f.epochs[role] = reg.Epoch
	}
	factory, epoch := core.OwnerName(core.RoleVMFactory, name, 0), f.epochs[core.RoleVMFactory]
	_, err := h.cluster.Redis.Reconcile(ctx, factory, epoch, name, nil, nil)
	require.NoError(h.t, err)
	require.NoError(h.t, h.cluster.Redis.Note(ctx, factory, epoch, name, core.HostNotes{Serves: []string{"default"}}))
	names, made := []string{}, map[string]bool{}
	for i := range vms {
		vm := fmt.Sprintf("%s-%d-%d", name, epoch%1e6, i)
		names, made[vm] = append(names, vm), true
	}
	require.NoError(h.t, h.cluster.Redis.Create(ctx, factory, epoch, name, "default", names))
	require.NoError(h.t, h.cluster.Redis.Ready(ctx, factory, epoch, name, made))
	return f
}

// claim takes n requests.
func (f *fake) claim(n int, finish ...core.Finish) []core.Claim {
	f.h.t.Helper()
	f.seq++
	x, err := f.h.cluster.Redis.Exchange(context.Background(), core.Exchange{
		Owner: core.OwnerName(core.RoleTestrunner, f.name, 0), Host: f.name, Epoch: f.epochs[core.RoleTestrunner], Seq: f.seq,
		Pools: []string{"default"}, Want: n, Finish: finish, TokenBase: f.seq, Beat: time.Hour,
	})
	require.NoError(f.h.t, err)
	require.Len(f.h.t, x.Claims, n)
	return x.Claims
}

// said runs a command that must end well, and returns what it printed.
func (h *testCluster) said(args ...string) string {
	h.t.Helper()
	out, errs, code := h.run(args...)
	require.Zero(h.t, code, "%v: %s%s", args, out, errs)
	return out
}

func (h *testCluster) refused(code int, want string, args ...string) {
	h.t.Helper()
	_, errs, got := h.run(args...)
	require.Equal(h.t, code, got, "%v: %s", args, errs)
	require.Contains(h.t, errs, want, "%v", args)
}

func TestDrainWithDeadlineAndPreview(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h1 := h.fake("h1", 3)
	ids := h.submit(2, "true")
	h1.claim(2)
	h.fake("h2", 1)
	p := core.DefaultPool("default")
	p.Max, p.Warm = 1, 1
	require.NoError(t, h.cluster.Intake.SetPool(context.Background(), p))

	out := h.said("host", "drain", "h1", "--preview")
	require.Regexp(t, ids[0]+`-1 +default +normal +256 MiB memory +testrunner@h1#0 +→ h2`, out)
	require.Regexp(t, ids[1]+`-1 .*→ parked: nothing fits`, out)
	var plan []overseer.Planned
	require.NoError(t, json.Unmarshal([]byte(h.said("host", "drain", "--preview", "--json", "h1")), &plan))
	require.Len(t, plan, 2)
	require.Equal(t, "h2", plan[0].To)
	require.Empty(t, plan[1].To)
	require.Contains(t, h.said("host", "drain", "--preview", "h2"), "host h2 has nothing in hand")
	require.NotContains(t, h.said("host", "list"), "drained", "a preview changes nothing")

	require.Contains(t, h.said("host", "drain", "h1", "--deadline", "1h"), "what it still has after 1h0m0s, an overseer moves")
	for _, args := range [][]string{{"host", "list"}, {"host", "show", "h1"}, {"doctor"}} {
		out, _, _ := h.run(args...)
		require.Regexp(t, `drained, gives up what it has in (1h|\d+m)`, out, args)
	}
	require.Contains(t, h.said("host", "undrain", "h1"), "takes work again")
	require.NotContains(t, h.said("host", "list"), "drained")
	require.Contains(t, h.said("host", "drain", "h1"), "what it has in hand it finishes")
	require.NotContains(t, h.said("host", "show", "h1"), "gives up")

	h.refused(terminal.ExitUsage, "at least 1s", "host", "drain", "h1", "--deadline", "0s")
	h.refused(terminal.ExitUsage, "deadline", "host", "drain", "h1", "--deadline", "soon")
	h.refused(terminal.ExitUsage, "one argument", "host", "drain")
	h.refused(terminal.ExitNotFound, "there is no host h9", "host", "drain", "h9", "--preview")
	h.refused(terminal.ExitUsage, "not a valid name", "host", "drain", "H:9", "--preview")
}

func TestAHostIsReportedAndEvacuated(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h1 := h.fake("h1", 4)
	ids := h.submit(2, "true")
	h1.claim(2)
	require.Contains(t, h.said("host", "evacuations"), "no requests moved lately")
	require.Contains(t, h.said("host", "report", "h1", "failed", "--reason", "smoke"), "it is reported that host h1 failed")
	h.said("overseer", "--once")
	require.Regexp(t, `down, reported failed by .*: smoke`, h.said("host", "list"))
	require.Regexp(t, `failed +reported by .*: smoke; drover host\s+report h1 recovered lets it back`, h.said("host", "show", "h1"))
	out, _, code := h.run("doctor")
	require.Equal(t, terminal.ExitFault, code)
	require.Contains(t, out, "drover host report h1 recovered")

	require.Regexp(t, ids[0]+`-1 +parked +h1 +- `, h.said("host", "evacuations"))
	require.Contains(t, h.said("request", "list", "--state", "parked"), "no other had room")
	require.NotContains(t, h.said("request", "list", "--state", "queued"), ids[0])
	require.Regexp(t, `reason +parked: when its host was lost`, h.said("request", "show", ids[0]))
	h2 := h.fake("h2", 3)
	claims := h2.claim(2)
	require.Regexp(t, ids[0]+`-1 +accepted +h1 +h2 `, h.said("host", "evacuations", "h2"))
	require.Contains(t, h.said("host", "evacuations", "h3"), "no requests moved lately")
	var moves []core.Evacuation
	require.NoError(t, json.Unmarshal([]byte(h.said("host", "evacuations", "--json", "h1")), &moves))
	require.Len(t, moves, 2)
	h2.claim(0, core.Finish{Key: claims[0].Key, Token: claims[0].Token, Outcome: core.OutcomeRetry})
	require.Regexp(t, `reason +after a fault of the platform its next try is due in`, h.said("request", "show", ids[0]))
	require.Regexp(t, `faults so far +2, of the platform`, h.said("request", "show", ids[0]))

	h.said("host", "report", "h1", "recovered", "--by", "nagios")
	h.said("overseer", "--once")
	h.fake("h1", 1)
	require.NotContains(t, h.said("host", "list"), "failed")
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{terminal.ExitUsage, "two arguments", []string{"h1"}},
		{terminal.ExitUsage, `"broken" is nothing to report`, []string{"h1", "broken"}},
		{terminal.ExitNotFound, "there is no host h9", []string{"h9", "failed"}},
		{terminal.ExitUsage, "at most 300 bytes", []string{"h1", "failed", "--reason", fmt.Sprintf("%0301d", 1)}},
	} {
		h.refused(test.code, test.want, append([]string{"host", "report"}, test.args...)...)
	}
	h.refused(terminal.ExitUsage, "at most one argument", "host", "evacuations", "h1", "h2")
	h.refused(terminal.ExitUsage, "not a valid name", "host", "evacuations", "H 1")
}

func TestAHostOnProbation(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.fake("h1", 1)
	require.NoError(t, h.cluster.Redis.Probation(context.Background(), "h1", "it fails too much", time.Minute, 3))
	require.Contains(t, h.said("host", "list"), "on probation (0 of 3)")
	show := h.said("host", "show", "h1")
	require.Regexp(t, `probation +it fails too much; 0 of 3 requests in a row succeeded, for the 1st time`, show)
	require.Contains(t, show, "drover host trust h1")
	out, _, _ := h.run("doctor")
	require.Contains(t, out, "is on probation: it fails too much")
	require.Contains(t, h.said("host", "trust", "h1"), "host h1 is trusted")
	require.NotContains(t, h.said("host", "list"), "probation")
	h.refused(terminal.ExitNotFound, "there is no host h9", "host", "trust", "h9")
	h.refused(terminal.ExitUsage, "one argument", "host", "trust")
}

func TestDeadRequestsSayWhyAndRunAgain(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	id := h.submit(1, "true")[0]
	for range 2 {
		f := h.fake("h1", 1)
		f.claim(1)
		_, err := h.cluster.Redis.DeclareDead(context.Background(), core.OwnerName(core.RoleTestrunner, "h1", 0), f.epochs[core.RoleTestrunner])
		require.NoError(t, err)
		h.said("overseer", "--once")
	}
	const why = "in quarantine: it was alone in hand, or apart from the others, when 2 runners died"
	require.Contains(t, h.said("request", "list", "--state", "dead"), why[:60]) // a table's column is cut
	require.Contains(t, h.said("request", "list", "--state", "dead", "--json"), why+" (testrunner@h1#0, testrunner@h1#0)")
	h.said("request", "rerun", id)
	require.Contains(t, h.said("request", "list", "--state", "dead"), "no requests")
	require.Equal(t, core.Key(id, 2), h.fake("h1", 1).claim(1)[0].Key)
	h.refused(terminal.ExitRefused, id, "request", "rerun", id)
}

func TestOnHostLossIsTheRequestsOwn(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.refused(terminal.ExitUsage, "requeue or fail", "run", "--on-host-loss", "hope", "--", "true")
	id := h.said("submit", "--no-wait", "--on-host-loss", "fail", "--harness", "../../examples/ledger/harness",
		"--submission", "../../examples/ledger/submissions/right")
	id = id[:len(id)-1]
	require.Regexp(t, `on host loss +fail`, h.said("request", "show", id))
	claim := h.fake("h1", 1).claim(1)[0]
	begun, err := h.cluster.Store.BeginRequest(context.Background(), claim.Key, "testrunner@h1#0 "+claim.Token) // as a testrunner does
	require.NoError(t, err)
	require.True(t, begun)
	require.Contains(t, h.said("host", "drain", "h1", "--preview"), "stays: it is not to run twice")
	h.said("host", "report", "h1", "failed")
	h.said("overseer", "--once")
	require.Contains(t, h.said("request", "show", id), "It had begun to run when")
}

// Doctor names what is broken, and the command that it names mends it.
func TestDoctorNamesWhatMends(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	h.pool()
	h.fake("h1", 2)
	ids := h.submit(1, "true")
	ctx, db, space := context.Background(), h.cluster.Redis.Client(), h.cluster.Redis.Namespace()
	require.NoError(t, db.Del(ctx, space.Key("queue", "default", "normal", "s0")).Err())
	require.NoError(t, db.RPush(ctx, space.Key("turns", "default", "low"), "ghost").Err())
	require.NoError(t, db.HSet(ctx, space.Key("deaths"), "gone-1", "x").Err())
	require.NoError(t, db.Set(ctx, string(space)+":stranger", 1, 0).Err())
	out, _, code := h.run("doctor", "--json")
	require.Equal(t, terminal.ExitFault, code)
	for _, part := range []string{
		core.Key(ids[0], 1) + ": it is nowhere", "drover request show " + ids[0], "queue:default:low:ghost: it is in turn", "gone-1: deaths has it",
		"stranger: no key", "redis-cli UNLINK drover:stranger", `"mend": "drover overseer --once`,
	} {
		require.Contains(t, out, part)
	}
	h.said("overseer", "--once")
	out, _, _ = h.run("doctor")
	require.NotContains(t, out, "nowhere")
	require.NotContains(t, out, "ghost")
	require.NotContains(t, out, "gone-1")
	require.Contains(t, out, "stranger: no key", "that is not ours to remove")
	require.Len(t, h.fake("h2", 1).claim(1), 1)
}

func TestDoctorWarnsOfWhatIsUnsafe(t *testing.T) {
	t.Parallel()
	var f doctor.Findings
	f.RedisKeeps(map[string]string{"aof_enabled": "0", "aof_last_write_status": "err", "maxmemory_policy": "allkeys-lru"})
	f.Clock(-2 * time.Second)
	f.Versions(map[string][]string{"v1": {"a", "b", "c", "d", "e"}, access.Version: {"f"}})
	f.Versions(map[string][]string{"v0": {"a"}})
	var levels []string
	for _, one := range f {
		levels = append(levels, one.Level+" "+one.About)
		require.NotEmpty(t, one.Mend)
	}
	require.Equal(t, []string{
		"warn redis durability", "fail redis durability", "fail redis eviction", "warn clock", "warn versions", "warn versions",
	}, levels)
	require.Contains(t, f[3].Text, "differ by -2s")
	require.Contains(t, f[4].Text, "v1: a b c and 2 more")
	var sound doctor.Findings
	sound.RedisKeeps(map[string]string{"aof_enabled": "1", "aof_last_write_status": "ok", "maxmemory_policy": "noeviction"})
	sound.Clock(time.Millisecond)
	sound.Versions(map[string][]string{access.Version: {"a", "b"}})
	require.Empty(t, sound)
}
