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
	w.pool(func(p *core.Pool) { p.Paused = true })
	check(requests.ReasonPaused, "drover pool set", "paused for now")
	w.pool(func(*core.Pool) {})
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
