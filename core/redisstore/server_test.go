package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/redisstore/redisserver"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Rule 9: a full Redis takes nothing new, and everything that makes room for it.
func TestAFullRedisDoesNotKillTheCluster(t *testing.T) {
	t.Parallel()
	for name, twice := range map[string]bool{"once": false, "twice": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whenFull(t, newSuite(t, coretest.Alone(t), twice))
		})
	}
}

// whenFull fills the server and makes every call that must pass then.
func whenFull(t *testing.T, x *suite) {
	ctx := t.Context()
	k := newTasker(t, x)
	k.add(t, "t1")
	task := k.run(t, 1, 1).Claims[0]
	x.AddVMs(t, 6)
	x.Submit(t, specs("a", 6, "ann")...)
	cs := x.Exchange(t, 1, 3).Claims
	x.owners(t, 2)
	x.due(t, -time.Minute, "testrunner@o0#0", "testrunner@o1#0")
	require.NoError(t, x.b.Admin.ConfigSet(ctx, "maxmemory", "1").Err())
	ok := func(what string, err error) { t.Helper(); require.NoError(t, err, what) }

	verdicts, err := x.Store.Enqueue(ctx, append(specs("b", 1, "ann"), specs("a", 1, "ann")...))
	ok("a refusal is an answer", err)
	refused(t, verdicts[0], core.CodeFull)
	refused(t, x.Store.Room(ctx, specs("b", 1, "ann")[0]), core.CodeFull)
	refused(t, x.Store.EnqueueTask(ctx, core.Task{ID: "t2", Generation: 1, Kind: "none"}), core.CodeFull)
	refused(t, x.Store.Append(ctx, "a-1", "1.1", []core.OutputChunk{{Stream: "stdout", Data: []byte("x")}}), core.CodeFull)

	_, _, err = x.Store.Change(ctx, specs("a", 6, "ann")[5].With(1, core.Change{Pool: "p1", Priority: core.PriorityLow}), 0)
	refused(t, err, core.CodeFull)

	_, err = x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
	ok("beat", err)
	ok("progress", x.Store.Progress(ctx, x.Runner, x.Epoch, cs[0].Key, cs[0].Token, "running", 0))
	_, err = x.Store.Cancel(ctx, cs[1].Key, "bob", core.CancelAny)
	ok("cancel", err)
	require.Len(t, x.Exchange(t, 2, 1, end(cs[0], core.OutcomeDone), end(cs[1], core.OutcomeRetry)).Claims, 1)
	// Calls in which nothing ends: one more claim, one in vain, none wanted, no heartbeat.
	more := x.Exchange(t, 3, 1, core.Finish{Key: "a9-1", Token: "1.1", Outcome: core.OutcomeDone}).Claims
	require.Len(t, more, 1)
	x.Exchange(t, 4, 0, end(cs[0], core.OutcomeDone))
	x.Exchange(t, 5, 0)
	bare := x.Call(6, 0, end(more[0], core.OutcomeRelease))
	bare.Beat = 0
	_, err = x.Store.Exchange(ctx, bare)
	ok("no heartbeat", err)
	k.run(t, 2, 1, ended(task, core.OutcomeRetry, 0))
	gone, err := x.Store.Withdraw(ctx, "a4-1")
	ok("withdraw", err)
	require.Equal(t, !x.twice, gone, "the second call finds it gone")
	require.Len(t, x.late(t, x.Store, time.Second), 2)
	_, err = x.Store.Fence(ctx, "testrunner@o0#0", time.Second)
	ok("fence", err)
	require.Contains(t, x.judge(t), "o0")
	x.recoversWhenFull(t)
	ok("down", x.Store.Down(ctx, "o0", downAfter))
	ok("drain", x.Store.Drain(ctx, "h1", false, 0))
	ok("host", x.Store.SetHost(ctx, "h1", core.HostSettings{Labels: map[string]string{"zone": "a"}}))
	ok("pool", x.Store.SetPool(ctx, core.DefaultPool("p1")))
	ok("create", x.Store.Create(ctx, x.Factory, x.Made, "h1", "p1", []string{"v1"}))
	ok("ready", x.Store.Ready(ctx, x.Factory, x.Made, "h1", map[string]bool{"v1": true}))
	ok("note", x.Store.Note(ctx, x.Factory, x.Made, "h1", core.HostNotes{Broken: map[string]string{"p1": "no image"}}))
	_, err = x.Store.Measured(ctx, x.Factory, x.Made, "h1", core.HostMeasure{})
	ok("measured", err)
	_, err = x.Store.Retire(ctx, x.Factory, x.Made, "h1", []string{"v1"})
	ok("retire", err)
	vms, err := x.Store.Destroy(ctx, x.Factory, x.Made, "h1", 1)
	ok("destroy", err)
	ok("gone", x.Store.Gone(ctx, x.Factory, x.Made, "h1", map[string]string{vms[0]: ""}))
	_, err = x.Store.Reconcile(ctx, x.Factory, x.Made, "h1", map[string]core.Found{"v9": {Pool: "p1", Usable: true}}, nil)
	ok("reconcile", err)
	r := x.Register(t, x.Runner)
	for _, h := range r.Left {
		_, err = x.Store.Settle(ctx, x.Runner, r.Epoch, []core.Settlement{{Key: h.Key, Token: h.Token, Outcome: core.OutcomeRetry}}, 0)
		ok("settle", err)
	}
	ok("deregister", x.Store.Deregister(ctx, x.Runner, r.Epoch))
	_, err = x.Store.Trim(ctx, 0)
	ok("trim", err)
	coretest.RequireSound(t, x.Store)
	require.NoError(t, x.b.Admin.ConfigSet(ctx, "maxmemory", "0").Err())
	x.Submit(t, specs("b", 1, "ann")...)
}

// recoversWhenFull lets a host that is suspect by mistake back, and hears of another, while the
// server is full. It is begun where o0 and o1 are suspect.
func (x *suite) recoversWhenFull(t *testing.T) {
	t.Helper()
	require.Equal(t, core.HostSuspect, x.host(t, "o1").State)
	key := x.key("hosts")
	require.NoError(t, x.b.Admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	require.NoError(t, x.b.Admin.ZAddXX(t.Context(), key, redis.Z{Member: "o1", Score: float64(x.now(t).Add(time.Minute).UnixMilli())}).Err())
	require.NoError(t, x.b.Admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	// By one for whom Redis began just now: nobody is judged then, and nothing else lets it pass.
	_, err := open(t, x.b, "first-incarnation", x.now(t)).Judge(t.Context(), suspectAfter, downAfter)
	require.NoError(t, err)
	require.Equal(t, core.HostUp, x.host(t, "o1").State)
	require.Contains(t, x.judge(t), "o0")
	require.NoError(t, x.Store.AddHostReport(t.Context(), core.HostReport{Host: "o1", Event: core.HostRecovered, By: "dog"}))
}

// A restarted server knows no scripts. The client sends them again, in the middle of work.
func TestScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Alone(t), false)
	for seq := range int64(3) {
		require.NoError(t, x.b.Admin.ScriptFlush(t.Context()).Err())
		x.claim(t, seq+1, fmt.Sprintf("a%d", seq))
	}
}

var calls = regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+)`)

// commands counts what the server ran during fn, inside scripts too.
func commands(t *testing.T, b *coretest.Backend, fn func()) map[string]int {
	t.Helper()
	require.NoError(t, b.Admin.ConfigResetStat(t.Context()).Err())
	fn()
	text, err := b.Admin.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	out := make(map[string]int)
	for _, m := range calls.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		if m[1] != "config|resetstat" {
			out[m[1]] = n
		}
	}
	return out
}

// A claim's cost does not grow with what waits: neither requests nor submitters.
func TestAClaimCostsTheSameWhateverWaits(t *testing.T) {
	t.Parallel()
	for _, want := range []int{1, 64} {
		t.Run(fmt.Sprint(want), func(t *testing.T) {
			t.Parallel()
			x := newSuite(t, coretest.Alone(t), false)
			p := core.DefaultPool("p1")
			p.MaxWaiting = 1_000_000
			require.NoError(t, x.Store.SetPool(t.Context(), p))
			submit := func(prefix string, n, submitters int) {
				all := specs(prefix, n, "ann")
				for i := range all {
					all[i].Submitter = fmt.Sprintf("s%d", i%submitters)
				}
				x.Submit(t, all...)
			}
			cost := func(seq int64, finish []core.Claim) (map[string]int, []core.Claim) {
				var got core.Exchanged
				var ends []core.Finish
				for _, c := range finish {
					ends = append(ends, end(c, core.OutcomeDone))
				}
				// Whose class it is decides how many empty ones are looked at.
				require.NoError(t, x.b.Admin.HDel(t.Context(), x.key("pool", "p1"), "tickets").Err())
				n := commands(t, x.b, func() { got = x.Exchange(t, seq, want, ends...) })
				require.Len(t, got.Claims, want)
				return n, got.Claims
			}
			x.AddVMs(t, 5*want)
			submit("few", 300, 100)
			_, first := cost(1, nil)
			few, second := cost(2, first)
			submit("many", 30_000, 10_000)
			many, third := cost(3, second)
			again, _ := cost(4, third)
			require.Equal(t, few, many)
			require.Equal(t, many, again)
			require.Equal(t, 1, many["evalsha"])
			t.Logf("one call that ends and claims %d: %v", want, many)
		})
	}
}

// Tombstones go by the hundred thousand: they are freed behind, not while everybody waits.
func TestTrimDoesNotHoldUpTheServer(t *testing.T) {
	t.Parallel()
	x := newSuite(t, coretest.Alone(t), false)
	require.NoError(t, x.b.Admin.SAdd(t.Context(), x.key("tombstones_old"), "a-1", "b-1").Err())
	ran := commands(t, x.b, func() {
		n, err := x.Store.Trim(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, 2, n)
	})
	require.Equal(t, 1, ran["unlink"])
	require.Zero(t, ran["del"])
}

// A store that is led to another server learns of its new incarnation: it reconciles anew, and
// counts lateness from then, though that server may have been up for long.
func TestAnotherServerIsAnotherIncarnation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	link := filepath.Join(t.TempDir(), "redis.sock")
	serve := func() *redisserver.Server {
		s, err := redisserver.Start(context.Background())
		if err != nil {
			coretest.Missing(t, "redis-server", err)
		}
		return s
	}
	first, second := serve(), serve()
	t.Cleanup(func() { _ = second.Stop() })
	require.NoError(t, os.Symlink(first.Socket, link))
	s, err := redisstore.Open(ctx, redisstore.Options{URL: "unix://" + link, Namespace: "t"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	h := coretest.NewCluster(t, s, "h1", "p1")
	h.AddVMs(t, 1)
	h.Submit(t, coretest.Spec("a", "p1", "ann"))
	require.True(t, h.Exchange(t, 1, 0).Ready)

	info := redis.NewClient(&redis.Options{Network: "unix", Addr: second.Socket})
	t.Cleanup(func() { require.NoError(t, info.Close()) })
	require.Eventually(t, func() bool {
		text, err := info.Info(ctx, "server").Result()
		return err == nil && !regexp.MustCompile(`uptime_in_seconds:[01]\r`).MatchString(text)
	}, 5*time.Minute, 50*time.Millisecond, "the second server has been up for a while")
	_ = first.Stop()
	_, err = s.Beat(ctx, h.Runner, h.Epoch, time.Minute)
	refused(t, err, core.CodeUnavailable)
	before := time.Now()
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(second.Socket, link))

	_, err = s.Beat(ctx, h.Runner, h.Epoch, time.Minute)
	refused(t, err, core.CodeFenced)
	require.GreaterOrEqual(t, s.Born(), before.UnixMilli())
	old := h.Epoch
	h.Epoch, h.Made = h.Register(t, h.Runner).Epoch, h.Register(t, h.Factory).Epoch
	require.Greater(t, h.Epoch, old)
	require.False(t, h.Exchange(t, 1, 1).Ready)
	_, err = s.Reconcile(ctx, h.Factory, h.Made, "h1", nil, nil)
	require.NoError(t, err)
	require.True(t, h.Exchange(t, 2, 1).Ready)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	live, cancel := context.WithCancel(t.Context())
	ended, end := context.WithCancel(t.Context())
	end()
	defer cancel()
	dial := &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	require.NoError(t, redisstore.Fault(live, nil, "x"))
	refused(t, redisstore.Fault(live, dial, "x"), core.CodeUnavailable)
	refused(t, redisstore.Fault(live, os.ErrDeadlineExceeded, "x"), core.CodeUnavailable)
	refused(t, redisstore.Fault(live, proto("LOADING Redis is loading"), "x"), core.CodeUnavailable)
	refused(t, redisstore.Fault(live, proto("OOM command not allowed"), "x"), core.CodeFull)
	refused(t, redisstore.Fault(live, redis.ErrClosed, "x"), core.CodeUnavailable)
	require.ErrorIs(t, redisstore.Fault(ended, dial, "x"), context.Canceled)
	refused(t, redisstore.Fault(ended, proto("FENCED a"), "x"), core.CodeFenced)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, err := redisstore.Open(ctx, redisstore.Options{URL: "redis://me:secret@host:port"})
	refused(t, err, core.CodeInvalid)
	require.NotContains(t, err.Error(), "secret")
	_, err = redisstore.Open(ctx, redisstore.Options{URL: "redis://localhost", Namespace: "No Name"})
	refused(t, err, core.CodeInvalid)
	_, err = redisstore.Open(ctx, redisstore.Options{URL: "unix:///nowhere/at/all.sock"})
	require.Error(t, err)
	var its *core.Error
	require.ErrorAs(t, err, &its)
	require.Equal(t, core.CodeUnavailable, its.Code)
	b := coretest.Mini(t)
	opts := b.Options()
	opts.Namespace = "t"
	s, err := redisstore.Open(ctx, opts)
	require.NoError(t, err)
	require.Equal(t, "t:owners", s.Namespace().Key("owners"))
	h := coretest.NewCluster(t, s, "h1", "p1")
	h.AddVMs(t, 1)
	h.Submit(t, coretest.Spec("a", "p1", "ann"))
	require.Len(t, h.Exchange(t, 1, 1).Claims, 1)
	coretest.RequireSound(t, s)
	require.NoError(t, s.Close())
}

// A caller that gives up gets its own context's error, not a fault.
func TestACallersEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, x *suite) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.ErrorIs(t, err, context.Canceled)
		ctx, cancel = context.WithDeadline(t.Context(), time.Unix(1, 0))
		defer cancel()
		_, err = x.Store.Beat(ctx, x.Runner, x.Epoch, time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}
