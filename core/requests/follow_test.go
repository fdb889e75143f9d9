package requests_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"drover/core"
	"drover/core/requests"

	"github.com/stretchr/testify/require"
)

// watch runs the Watch that wakes Follow.
func (w *fixture) watch() { w.watchBy(w.cluster.Store) }

func (w *fixture) watchBy(feed core.Feed) {
	w.service.Watch = &requests.Watch{Feed: feed, Last: w.cluster.Store.LastEvents}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.service.Watch.Run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		require.NoError(w.t, <-done)
	})
}

// text is an event as a test reads it.
func text(e requests.Event) string {
	return fmt.Sprintf("%s %s%s%s", e.Kind, e.State, e.Stream, e.Data)
}

// follow returns all events after the one named.
func (w *fixture) follow(who, id, last string) (all []requests.Event) {
	w.t.Helper()
	for e, err := range w.service.Follow(w.t.Context(), as(who), id, last) {
		require.NoError(w.t, err)
		if e.Kind != requests.EventIdle {
			all = append(all, e)
		}
	}
	return all
}

func (w *fixture) print(c core.Claim, words ...string) {
	w.t.Helper()
	for _, word := range words {
		chunk := core.OutputChunk{Stream: "stdout", Offset: int64(len(w.printed[c.Token])), Data: []byte(word)}
		require.NoError(w.t, w.service.Output.Append(w.t.Context(), c.Key, c.Token, []core.OutputChunk{chunk}))
		w.printed[c.Token] += word
	}
}

func (w *fixture) run(c core.Claim) {
	w.t.Helper()
	require.NoError(w.t, w.cluster.Store.Progress(w.t.Context(), w.cluster.Runner, w.cluster.Epoch, c.Key, c.Token, "running", 0))
}

// retry has the platform fail a claim, and the next try taken.
func (w *fixture) retry(c core.Claim) core.Claim {
	w.t.Helper()
	w.seq++
	w.cluster.Exchange(w.t, w.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeRetry})
	w.b.Hasten(w.t, w.cluster.Store)
	return w.claim()
}

// life has a request go through all that can happen to it. After each step it waits until
// the follower says that it has seen that.
func (w *fixture) life(seen func(want string)) {
	seen("state queued")
	c := w.claim()
	seen("state claimed")
	w.run(c)
	seen("state running")
	w.print(c, "one ", "two ")
	seen("output stdouttwo ")
	c = w.retry(c)
	seen("state claimed")
	w.run(c)
	seen("state running")
	w.print(c, "three ")
	seen("output stdoutthree ")
	w.print(c, "four")
	w.end(c)
	seen("end completed")
}

func TestFollowTellsAllInOrder(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watch()
	s := w.submit("rosa")
	events := make(chan requests.Event)
	failed := make(chan error, 1)
	go func() {
		defer close(events)
		for e, err := range w.service.Follow(t.Context(), as("rosa"), s.ID, "") {
			if err != nil {
				failed <- err
				return
			}
			if e.Kind != requests.EventIdle {
				events <- e
			}
		}
	}()
	var all []requests.Event
	w.life(func(want string) {
		for e := range events {
			all = append(all, e)
			if text(e) == want {
				return
			}
		}
		require.Fail(t, "it ended before "+want)
	})
	_, more := <-events
	require.False(t, more)
	require.Empty(t, failed)
	var got []string
	for _, e := range all {
		if text(e) != "state queued" { // it may be seen between two tries, or not
			got = append(got, text(e))
		}
	}
	require.Equal(t, []string{
		"state claimed", "state running", "output stdoutone ", "output stdouttwo ", "reset ", "state claimed", "state running",
		"output stdoutthree ", "output stdoutfour", "end completed",
	}, got)
	for i, e := range all {
		require.Equal(t, shown(all), shown(append(all[:i+1:i+1], w.follow("rosa", s.ID, e.ID)...)), "after event %d, %s", i, text(e))
	}
	require.Empty(t, w.follow("rosa", s.ID, all[len(all)-1].ID), "the end is told once")
}

// shown is what a reader has in the end: what is printed, and how it ended.
func shown(all []requests.Event) (out string) {
	for _, e := range all {
		switch e.Kind {
		case requests.EventReset:
			out = ""
		case requests.EventOutput:
			out += string(e.Data)
		case requests.EventEnd:
			out += "|" + string(e.State)
		case requests.EventState, requests.EventGap, requests.EventIdle, requests.EventAway, requests.EventTests:
		}
	}
	return out
}

// A reader who comes back after the attempt was lost gets the next one's output whole.
func TestFollowAcrossALostAttempt(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watch()
	s := w.submit("rosa")
	c := w.claim()
	w.print(c, "lost", "more")
	var last string
	for e, err := range w.service.Follow(t.Context(), as("rosa"), s.ID, "") {
		require.NoError(t, err)
		if last = e.ID; text(e) == "output stdoutlost" {
			break
		}
	}
	c = w.retry(c)
	w.print(c, "kept")
	w.end(c)
	var got []string
	for _, e := range w.follow("rosa", s.ID, last) {
		got = append(got, text(e))
	}
	require.Equal(t, []string{"reset ", "output stdoutkept", "end completed"}, got)
	for _, foreign := range []string{"x", "1~2", "999999999~~~", "1~1.1~0-0~\n"} {
		require.Equal(t, "kept|completed", shown(w.follow("rosa", s.ID, foreign)), "what is no id begins anew")
	}
}

// Who may not see what a harness prints is told of states only.
func TestFollowShowsOutputByRight(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.watch()
	for assignment, shows := range map[string]map[string]bool{
		"cs101/hw1":  {"ann": false, "tess": true, "olga": false, "root": true},
		"cs101/open": {"ann": true, "tess": true, "olga": false},
	} {
		s := w.submit("ann", grading(assignment))
		c := w.claim()
		w.print(c, "secret")
		w.end(c)
		for who, sees := range shows {
			all := w.follow(who, s.ID, "")
			require.Equal(t, sees, shown(all) == "secret|completed", "%s %s: %v", who, assignment, all)
			require.Equal(t, requests.EventEnd, all[len(all)-1].Kind)
		}
		for _, who := range []string{"cleo", "theo", "nick", "rosa", "otto"} {
			for _, err := range w.service.Follow(t.Context(), as(who), s.ID, "") {
				requireCode(t, core.CodeNotFound, err)
			}
		}
	}
	first := w.submit("ann", grading("cs101/open"))
	rerun := w.submit("ann", func(s *core.Spec) { s.Submission, s.Assignment = first.ID, "cs101/open" })
	for _, err := range w.service.Follow(t.Context(), as("ann"), rerun.ID, "") {
		requireCode(t, core.CodeNotFound, err) // an experiment's
	}
}

// counted counts what is asked of Redis by the readers of all and by each alone.
type counted struct {
	core.Feed
	core.Output
	mu           sync.Mutex
	feeds, reads int
	at           int // readers inside Next
}

func (c *counted) Read(ctx context.Context, key, token, after string, wait time.Duration) ([]core.OutputChunk, error) {
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	return c.Output.Read(ctx, key, token, after, wait)
}

func (c *counted) Next(ctx context.Context, event string, outputs map[core.OutputOf]string, wait time.Duration) ([]core.Event, []core.OutputOf, error) {
	c.mu.Lock()
	c.feeds++
	if c.at++; c.at > 1 {
		panic("two readers")
	}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.at--
		c.mu.Unlock()
	}()
	return c.Feed.Next(ctx, event, outputs, wait)
}

// A thousand who follow one request are served by one reader of Redis.
func TestAThousandFollow(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	c := &counted{Feed: w.cluster.Store, Output: w.cluster.Store}
	w.watchBy(c)
	w.service.Output = c
	s := w.submit("rosa")
	claim := w.claim()
	const crowd = 1000
	var begun, ended sync.WaitGroup
	errs := make(chan error, crowd)
	for range crowd {
		begun.Add(1)
		ended.Go(func() {
			first := sync.OnceFunc(begun.Done)
			defer first()
			var all []requests.Event
			for e, err := range w.service.Follow(t.Context(), as("rosa"), s.ID, "") {
				first()
				if err != nil {
					errs <- err
					return
				}
				all = append(all, e)
			}
			if shown(all) != "printed|completed" {
				errs <- errors.New(shown(all))
			}
		})
	}
	begun.Wait()
	w.print(claim, "printed")
	w.end(claim)
	ended.Wait()
	close(errs)
	require.NoError(t, <-errs)
	require.LessOrEqual(t, c.reads, 10*crowd, "each reads what it prints, and no more")
}
