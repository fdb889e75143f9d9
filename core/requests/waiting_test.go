package requests_test

import (
	"testing"
	"time"

	"drover/core"
	"drover/core/requests"

	"github.com/stretchr/testify/require"
)

func (w *fixture) waiting(who, id string) *requests.Waiting {
	w.t.Helper()
	got, err := w.service.Waiting(w.t.Context(), as(who), id)
	require.NoError(w.t, err)
	return got
}

func TestWaitingCountsTurns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for range 5 {
		w.submit("bob")
	}
	first, second := w.submit("rosa"), w.submit("rosa")
	for range 4 {
		w.submit("cid")
	}
	require.Equal(t, 1, *w.waiting("rosa", first.ID).Ahead, "of bob's five one goes before it")
	require.Equal(t, 4, *w.waiting("rosa", second.ID).Ahead, "one of its own, two of bob's, one of cid's")
	w.claim()
	require.Equal(t, 0, *w.waiting("rosa", first.ID).Ahead)
	require.Nil(t, w.waiting("rosa", first.ID).Expected, "nothing has ended yet")

	for range 5 {
		w.submit("bob", func(s *core.Spec) { s.Priority = core.PriorityHigh })
	}
	low := w.submit("rosa", func(s *core.Spec) { s.Priority = core.PriorityLow })
	require.Equal(t, 0, *w.waiting("rosa", low.ID).Ahead, "it is the first of its class, which has turns of its own")
	require.Equal(t, 3+5+1, *w.waiting("rosa", second.ID).Ahead, "three of its class, and of the others by their shares")
}

// What is due soon is said, and so is that others of the same submitter must end first.
func TestWaitingForWhatIsDueSoonAndForOnesOwn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.submit("bob")
	soon := w.submit("rosa", func(s *core.Spec) { s.Due = time.Now().Add(20 * time.Minute).UnixMilli() })
	got := w.waiting("rosa", soon.ID)
	require.True(t, got.Soon)
	require.Equal(t, 0, *got.Ahead, "it came later, and goes first")
	w.pool(func(p *core.Pool) { p.Running = 1 })
	require.Equal(t, requests.ReasonTurn, w.waiting("rosa", soon.ID).Reason)
	next := w.submit("rosa")
	require.Equal(t, soon.Key(), w.claim().Key)
	got = w.waiting("rosa", next.ID)
	require.Equal(t, requests.ReasonRunning, got.Reason)
	require.Contains(t, got.Text, "as many requests of its submitter run as may at once")
	require.Nil(t, got.Expected)
	require.Contains(t, w.waiting("olga", next.ID).Text, "1 of its submitter run, as many as pool p1 allows at once")
}

func TestExpectedWait(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for i := range 5 {
		w.submit("bob")
		w.end(w.claim(), func(r *core.Result) { r.Times.Finished = int64(10 + 1000*(i+1)) })
	}
	vms := w.vms()
	for range 2 * vms {
		w.submit("rosa")
	}
	last := w.submit("rosa")
	got := w.waiting("rosa", last.ID)
	require.Equal(t, 2*vms, *got.Ahead)
	require.Equal(t, &requests.Expected{Least: 4 * time.Second, Most: 15 * time.Second, From: 5, VMs: vms}, got.Expected)

	w.mu.Lock()
	w.now = w.now.Add(2 * time.Hour)
	w.mu.Unlock()
	require.Nil(t, w.waiting("rosa", last.ID).Expected, "what ended long ago says nothing of now")
}

func (w *fixture) vms() int {
	w.t.Helper()
	all, err := w.cluster.Store.ListVMs(w.t.Context(), "")
	require.NoError(w.t, err)
	return len(all)
}

// Why it waits is told to who runs the cluster with what to do about it, to others without.
func TestWaitingReasons(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := w.submit("rosa")
	check := func(reason requests.Reason, operator, person string) {
		t.Helper()
		for who, text := range map[string]string{"olga": operator, "rosa": person} {
			got := w.waiting(who, s.ID)
			require.Equal(t, reason, got.Reason)
			require.Contains(t, got.Text, text)
			require.NotContains(t, got.Text, "{")
			v, err := w.service.View(t.Context(), as(who), s.ID)
			require.NoError(t, err)
			require.Equal(t, got, v.Waiting)
		}
		require.NotContains(t, w.waiting("rosa", s.ID).Text, "drover ")
	}
	check(requests.ReasonTurn, "pool p1", "for its turn")
	require.NoError(t, w.cluster.Store.Note(t.Context(), w.cluster.Factory, w.cluster.Made, "h1", core.HostNotes{Broken: map[string]string{pool: "no disk"}}))
	check(requests.ReasonBroken, "h1 cannot make VMs of pool p1: no disk", "not that of what was submitted")
	_, err := w.cluster.Store.SetOutage(t.Context(), pool, core.Outage{Host: "h0", Why: "no image"})
	require.NoError(t, err)
	check(requests.ReasonBroken, "h1 cannot make VMs of pool p1: no disk", "it keeps its place")
	w.pool(func(p *core.Pool) { p.BrokenFor = 30 * time.Minute })
	check(requests.ReasonBroken, "no host can make VMs of pool p1, on h0: no image; if that lasts, it fails in ", "by the platform's fault")
	outages, err := w.cluster.Store.Outages(t.Context())
	require.NoError(t, err)
	require.Equal(t, outages[pool].Since+(30*time.Minute).Milliseconds(), w.waiting("rosa", s.ID).FailsAt)
	w.pool(func(p *core.Pool) { p.Paused = true })
	check(requests.ReasonPaused, "until an operator lets it go on", "paused for now")
	w.pool(func(*core.Pool) {})
	serves := func(pools ...string) {
		t.Helper()
		require.NoError(t, w.cluster.Store.Note(t.Context(), w.cluster.Factory, w.cluster.Made, "h1", core.HostNotes{Serves: pools}))
	}
	serves("other")
	check(requests.ReasonNoHost, "no host makes VMs of pool p1 now: none serves it", "switched off")
	w.pool(func(p *core.Pool) { p.Requires = "gpu=yes" })
	check(requests.ReasonNoHost, "none has the labels gpu=yes", "switched off")
	w.pool(func(*core.Pool) {})
	serves(pool)
	check(requests.ReasonTurn, "pool p1", "for its turn")
	leased := core.DefaultPool("lease-x-a")
	leased.Of, leased.Lease = pool, "x"
	require.NoError(t, w.cluster.Store.SetLeased(t.Context(), core.LeasedPoolSetting{Pool: leased, Submitters: []string{"leo"}}))
	round, n := func(its core.Targets) core.Round {
		return core.Round{Targets: map[string]core.Targets{"h1": its}, Lasts: time.Hour}
	}, int64(0)
	n, err = w.cluster.Store.SetTargets(t.Context(), n, round(core.Targets{"lease-x-a": {Warm: 1, Most: 1}}))
	require.NoError(t, err)
	check(requests.ReasonReserved, "is reserved for leases", "reserved for others")
	n, err = w.cluster.Store.SetTargets(t.Context(), n, round(core.Targets{"lease-x-a": {Warm: 1, Most: 1}, pool: {Most: 1}}))
	require.NoError(t, err)
	check(requests.ReasonTurn, "pool p1", "for its turn")
	_, err = w.cluster.Store.SetTargets(t.Context(), n, round(nil))
	require.NoError(t, err)
	require.NoError(t, w.cluster.Store.Drain(t.Context(), "h1", true, 0))
	check(requests.ReasonNoHost, "h1 is drained", "switched off")
	require.NoError(t, w.cluster.Store.Drain(t.Context(), "h1", false, 0))
	reg := core.Registration{Owner: w.cluster.Factory, Host: "h1", Machine: "m-h1", Beat: time.Minute, MemoryBytes: 64 << 20}
	again, err := w.cluster.Store.Register(t.Context(), reg)
	require.NoError(t, err)
	w.cluster.Made = again.Epoch
	check(requests.ReasonCapacity, "takes more memory than any host", "too small")
	reg.MemoryBytes = 0
	again, err = w.cluster.Store.Register(t.Context(), reg)
	require.NoError(t, err)
	w.cluster.Made = again.Epoch
	require.NoError(t, w.cluster.Store.Deregister(t.Context(), w.cluster.Runner, w.cluster.Epoch))
	check(requests.ReasonNoTestrunner, "start one", "switched off")
	require.NoError(t, w.cluster.Store.Deregister(t.Context(), w.cluster.Factory, w.cluster.Made))
	check(requests.ReasonNoVMFactory, "start one", "switched off")
}

func TestARetryIsTold(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := w.submit("rosa")
	c := w.claim()
	require.Nil(t, w.waiting("rosa", s.ID), "it does not wait")
	w.seq++
	w.cluster.Exchange(t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry})
	got := w.waiting("rosa", s.ID)
	require.Equal(t, requests.ReasonRetry, got.Reason)
	require.Contains(t, got.Text, "tried again in")
	require.Nil(t, got.Ahead)
}

// What is known of a pool is asked for once, however many wait for it.
func TestKeptKnowledge(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	s := w.submit("rosa")
	w.service.Keep = time.Minute
	require.Equal(t, requests.ReasonTurn, w.waiting("rosa", s.ID).Reason)
	w.pool(func(p *core.Pool) { p.Paused = true })
	require.Equal(t, requests.ReasonTurn, w.waiting("rosa", s.ID).Reason)
	w.mu.Lock()
	w.now = w.now.Add(time.Minute)
	w.mu.Unlock()
	require.Equal(t, requests.ReasonPaused, w.waiting("rosa", s.ID).Reason)
}

// A preview says what a request would meet, submits nothing, and refuses what a submit would.
func TestPreview(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	preview := func(who string, change func(*requests.Draft)) (requests.Preview, error) {
		draft := requests.Draft{Pool: pool, Command: []string{"true"}}
		if change != nil {
			change(&draft)
		}
		return w.service.Preview(t.Context(), as(who), draft)
	}
	p, err := preview("rosa", nil)
	require.NoError(t, err)
	ready := w.vms()
	require.Equal(t, ready > 0, p.AtOnce())
	require.Equal(t, ready, p.Ready)
	require.Positive(t, p.More)
	require.Empty(t, p.Hosts, "hosts are for operators")
	p, err = preview("olga", nil)
	require.NoError(t, err)
	require.Equal(t, []requests.Places{{Host: "h1", Ready: p.Ready, More: p.More}}, p.Hosts)

	w.submit("rosa")
	w.submit("olga")
	w.submit("olga")
	p, err = preview("rosa", nil)
	require.NoError(t, err)
	require.False(t, p.AtOnce())
	require.Equal(t, 2, *p.Ahead, "one turn of each")
	require.True(t, p.AtLeast)
	w.pool(func(p *core.Pool) { p.Paused = true })
	p, err = preview("rosa", nil)
	require.NoError(t, err)
	require.Equal(t, requests.ReasonPaused, p.Reason)

	_, err = preview("rosa", func(d *requests.Draft) { d.Pool = "nosuch" })
	require.True(t, core.Is(err, core.CodeNotFound), err)
	_, err = preview("rosa", func(d *requests.Draft) { d.Priority = core.PriorityHigh })
	require.True(t, core.Is(err, core.CodeForbidden), err)
	_, err = preview("rosa", func(d *requests.Draft) { d.Limits.Memory = 1 << 60 })
	require.True(t, core.Is(err, core.CodeInvalid), err)
	w.pool(func(p *core.Pool) { p.MaxWaiting = 1 })
	_, err = preview("rosa", nil)
	require.True(t, core.Is(err, core.CodeFull), err)
	rows, err := w.service.Store.List(t.Context(), core.Filter{Limit: 10})
	require.NoError(t, err)
	require.Len(t, rows, 3, "nothing was submitted")
}
