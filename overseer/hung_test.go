package overseer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/clock"
	"drover/core/coretest"
	"drover/overseer"
)

// look oversees once at a moment so long after the slots began.
func (s *scene) look(parts overseer.Parts, held []core.Held, after time.Duration) error {
	s.t.Helper()
	var since int64
	for _, h := range held {
		since = max(since, h.Since)
	}
	parts.Clock = clock.NewManual(time.UnixMilli(since).Add(after))
	_, err := s.oversee(parts)
	return err
}

// A slot whose owner lives and does not go on with it is emptied once its limit has
// passed by less than 5 s (V13a, V13e, V14); the owner hears of it.
func TestAHungSlotIsTakenBack(t *testing.T) {
	t.Parallel()
	const grace = 3 * time.Second
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		s := newScene(t, b)
		s.host("h1", time.Hour)
		s.host("h2", time.Hour)
		ids := s.submit("again", 3)
		claims := s.claim("h1", "again", 3, time.Hour)
		ctx, runner := context.Background(), core.OwnerName(core.RoleTestrunner, "h1", 0)
		for i, limit := range []time.Duration{0, 10 * time.Second, time.Minute} {
			if limit > 0 {
				require.NoError(t, s.herd.Progress(ctx, runner, s.epoch[runner], claims[i].Key, claims[i].Token, "running", limit))
			}
		}
		held := s.held(core.RoleTestrunner, "h1")
		stage := core.DefaultPool("again").StageTimeout
		parts := s.parts()
		count := func() int { return len(s.held(core.RoleTestrunner, "h1")) }
		require.NoError(t, s.look(parts, held, 10*time.Second+grace-100*time.Millisecond))
		require.Equal(t, 3, count(), "in time")
		require.NoError(t, s.look(parts, held, 10*time.Second+grace))
		require.Equal(t, 2, count(), "running for longer than was said")
		require.Equal(t, core.RequestQueued, s.place(ids[1]).State)
		require.Equal(t, 1, s.place(ids[1]).Attempts)
		require.Positive(t, s.place(ids[1]).Due, "it pauses, as after any fault")
		require.NoError(t, s.look(parts, held, stage+grace))
		require.Equal(t, 1, count(), "staged for longer than the pool allows")
		require.NoError(t, s.look(parts, held, time.Minute+grace))
		require.Zero(t, count())
		beat, err := s.herd.Beat(ctx, runner, s.epoch[runner], time.Hour)
		require.NoError(t, err, "its owner is not fenced")
		require.Zero(t, beat.Slots)
		require.Len(t, s.owners(), 4)
		coretest.RequireSound(t, s.herd)

		s.end("h1", claims, core.OutcomeDone) // what it still says of them changes nothing
		require.Equal(t, core.RequestQueued, s.place(ids[0]).State)
		coretest.RequireSound(t, s.herd)
	})
}

// Hung work ends by what the store knows, dead after its last attempt; while the store is away nothing is decided.
func TestAHungSlotEndsByTheStore(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		s := newScene(t, b)
		s.host("h1", time.Hour)
		ids := s.submit("again", 3)
		claims := s.claim("h1", "again", 3, time.Hour)
		ctx := context.Background()
		_, err := s.store.Record(ctx, core.Result{ID: ids[0], Generation: 1, State: core.RequestCompleted, Token: claims[0].Token, VM: claims[0].VM})
		require.NoError(t, err)
		_, err = s.herd.Cancel(ctx, claims[1].Key, "alice", core.CancelAny)
		require.NoError(t, err)
		held := s.held(core.RoleTestrunner, "h1")
		away := s.parts()
		away.Store = awayStore{s.store}
		require.Error(t, s.look(away, held, time.Hour))
		require.Len(t, s.held(core.RoleTestrunner, "h1"), 3)
		require.NoError(t, s.look(s.parts(), held, time.Hour))
		require.Empty(t, s.held(core.RoleTestrunner, "h1"))
		require.Equal(t, core.RequestCompleted, s.state(ids[0]))
		require.Equal(t, core.RequestCancelled, s.state(ids[1]))
		require.Empty(t, s.place(ids[0]).State)
		for attempt := 2; attempt <= 3; attempt++ {
			s.b.Hasten(t, s.herd)
			s.claim("h1", "again", 1, time.Hour)
			require.NoError(t, s.look(s.parts(), s.held(core.RoleTestrunner, "h1"), time.Hour))
		}
		row, err := s.store.Get(ctx, ids[2])
		require.NoError(t, err)
		require.Equal(t, core.RequestDead, row.State)
		require.Contains(t, row.Result.Reason, "made no progress")
		coretest.RequireSound(t, s.herd)
	})
}

// awayStore cannot be asked what ended.
type awayStore struct{ core.ResultStore }

func (awayStore) Terminal(context.Context, []string) (map[string]core.RequestState, error) {
	return nil, core.Errorf(core.CodeUnavailable, "", "the store is away")
}

// A vmfactory's slots hang too: what it was making or destroying is destroyed anew.
func TestAHungVMIsDestroyed(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		s := newScene(t, b)
		s.host("h1", time.Hour)
		ctx, factory := context.Background(), core.OwnerName(core.RoleVMFactory, "h1", 0)
		require.NoError(t, s.herd.Create(ctx, factory, s.epoch[factory], "h1", "again", []string{"stuck"}))
		held := s.held(core.RoleVMFactory, "h1")
		require.Len(t, held, 1)
		require.NoError(t, s.look(s.parts(), held, time.Minute))
		require.Len(t, s.held(core.RoleVMFactory, "h1"), 1, "a slow one is not hung")
		require.NoError(t, s.look(s.parts(), held, 11*time.Minute))
		require.Empty(t, s.held(core.RoleVMFactory, "h1"))
		vms, err := s.herd.Destroy(ctx, factory, s.epoch[factory], "h1", 5)
		require.NoError(t, err)
		require.Equal(t, []string{"stuck"}, vms)
		require.NoError(t, s.look(s.parts(), s.held(core.RoleVMFactory, "h1"), 11*time.Minute))
		vms, err = s.herd.Destroy(ctx, factory, s.epoch[factory], "h1", 5)
		require.NoError(t, err)
		require.Equal(t, []string{"stuck"}, vms, "its destruction hung, so it is tried anew")
		coretest.RequireSound(t, s.herd)
	})
}

// A task that does not go on is given to another taskrunner.
func TestAHungTaskIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Mini(t))
	ctx := context.Background()
	owner := core.OwnerName(core.RoleTaskrunner, "h1", 0)
	reg, err := s.herd.Register(ctx, core.Registration{Owner: owner, Host: "h1", Machine: "h1", Beat: time.Hour})
	require.NoError(t, err)
	task, _, err := s.in.SubmitTask(ctx, core.Task{Kind: core.KindPurge})
	require.NoError(t, err)
	got, err := s.herd.ExchangeTasks(ctx, core.TaskExchange{Owner: owner, Epoch: reg.Epoch, Seq: 1, Want: 1, TokenBase: 1, Beat: time.Hour})
	require.NoError(t, err)
	require.Len(t, got.Claims, 1)
	require.NoError(t, s.look(s.parts(), s.held(core.RoleTaskrunner, "h1"), 30*time.Minute))
	require.Len(t, s.held(core.RoleTaskrunner, "h1"), 1)
	require.NoError(t, s.look(s.parts(), s.held(core.RoleTaskrunner, "h1"), 2*time.Hour))
	require.Empty(t, s.held(core.RoleTaskrunner, "h1"))
	got, err = s.herd.ExchangeTasks(ctx, core.TaskExchange{Owner: owner, Epoch: reg.Epoch, Seq: 2, Want: 5, TokenBase: 2, Beat: time.Hour})
	require.NoError(t, err)
	tries := map[string]int{}
	for _, claim := range got.Claims {
		tries[claim.Task.ID] = claim.Attempts
	}
	require.Equal(t, 1, tries[task.ID], "it waits again, with one attempt used: %v", tries)
	coretest.RequireSound(t, s.herd)
}

// The overseer is killed at every step of taking hung work back; the next one goes on.
func TestKilledAtEveryStepOfTheHung(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("in effect %v", after), func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				s := newScene(t, coretest.Mini(t))
				s.host("h1", time.Hour)
				ids := s.submit("again", 2)
				claims := s.claim("h1", "again", 2, time.Hour)
				_, err := s.herd.Cancel(context.Background(), claims[1].Key, "alice", core.CancelAny)
				require.NoError(t, err)
				held := s.held(core.RoleTestrunner, "h1")
				m := &mortal{at: at, after: after}
				parts := s.parts()
				parts.Owners, parts.Hosts, parts.Store = mortalOwners{s.herd, m}, mortalHosts{s.herd, m}, mortalStore{s.store, m}
				require.Equal(t, s.look(parts, held, time.Hour) != nil, m.dead, "what failed is told")
				require.NoError(t, s.look(s.parts(), held, time.Hour))
				require.Empty(t, s.held(core.RoleTestrunner, "h1"))
				require.Equal(t, 1, s.place(ids[0]).Attempts)
				require.Equal(t, core.RequestCancelled, s.state(ids[1]))
				coretest.RequireSound(t, s.herd)
				if !m.dead {
					require.Greater(t, at, 8)
					return
				}
			}
		})
	}
}
