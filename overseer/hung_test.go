package overseer_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/service/clock"
	"drover/overseer"
)

// look oversees once, when it is so long ago that the slots which these were were heard of.
func (s *scene) look(deps overseer.Deps, held []core.Held, after time.Duration) error {
	s.t.Helper()
	ctx := context.Background()
	now, err := s.b.Admin.Time(ctx).Result()
	require.NoError(s.t, err)
	for _, owner := range s.owners() {
		slots := s.cluster.Namespace().Key("slots", owner)
		for _, h := range held {
			slot, err := s.b.Admin.HGet(ctx, slots, h.Key).Result()
			if err != nil || !strings.Contains(slot, "|"+h.Token+"|") {
				continue
			}
			parts := strings.Split(slot, "|")
			parts[2] = strconv.FormatInt(now.Add(-after).UnixMilli(), 10)
			require.NoError(s.t, s.b.Admin.HSet(ctx, slots, h.Key, strings.Join(parts, "|")).Err())
		}
	}
	_, err = s.oversee(deps)
	return err
}

// A slot whose owner lives and does not go on with it is emptied once its limit has
// passed by less than 5 s (V13a, V13e, V14); the owner is notified.
func TestAHungSlotIsTakenBack(t *testing.T) {
	t.Parallel()
	const grace = 3 * time.Second
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Hour)
	s.host("h2", time.Hour)
	ids := s.submit("again", 3)
	claims := s.claim("h1", "again", 3, time.Hour)
	ctx, runner := context.Background(), core.OwnerName(core.RoleTestrunner, "h1", 0)
	for i, limit := range []time.Duration{0, 10 * time.Second, time.Minute} {
		if limit > 0 {
			require.NoError(t, s.cluster.Progress(ctx, runner, s.epoch[runner], claims[i].Key, claims[i].Token, "running", limit))
		}
	}
	held := s.held(core.RoleTestrunner, "h1")
	stage := core.DefaultPool("again").StageTimeout
	deps := s.deps()
	count := func() int { return len(s.held(core.RoleTestrunner, "h1")) }
	require.NoError(t, s.look(deps, held, 10*time.Second+grace-5*time.Second))
	require.Equal(t, 3, count(), "in time")
	require.NoError(t, s.look(deps, held, 10*time.Second+grace))
	require.Equal(t, 2, count(), "running for longer than was said")
	require.Equal(t, core.RequestQueued, s.place(ids[1]).State)
	require.Equal(t, 1, s.place(ids[1]).Attempts)
	require.Positive(t, s.place(ids[1]).Due, "it pauses, as after any fault")
	require.NoError(t, s.look(deps, held, stage+grace))
	require.Equal(t, 1, count(), "staged for longer than the pool allows")
	require.NoError(t, s.look(deps, held, time.Minute+grace))
	require.Zero(t, count())
	beat, err := s.cluster.Beat(ctx, runner, s.epoch[runner], time.Hour)
	require.NoError(t, err, "its owner is not fenced")
	require.Zero(t, beat.Slots)
	require.Len(t, s.owners(), 4)
	coretest.RequireSound(t, s.cluster)

	s.end("h1", claims, core.OutcomeDone) // what it still says of them changes nothing
	require.Equal(t, core.RequestQueued, s.place(ids[0]).State)
	coretest.RequireSound(t, s.cluster)
}

// Hung work ends by what the store knows, else it runs again, however often; while the store is away nothing is decided.
func TestAHungSlotEndsByTheStore(t *testing.T) {
	t.Parallel()
	b := coretest.Real(t)
	s := newScene(t, b)
	s.host("h1", time.Hour)
	ids := s.submit("again", 3)
	claims := s.claim("h1", "again", 3, time.Hour)
	ctx := context.Background()
	_, err := s.store.Record(ctx, core.Result{ID: ids[0], Generation: 1, State: core.RequestCompleted, Token: claims[0].Token, VM: claims[0].VM})
	require.NoError(t, err)
	_, err = s.cluster.Cancel(ctx, claims[1].Key, "alice", core.CancelAny)
	require.NoError(t, err)
	held := s.held(core.RoleTestrunner, "h1")
	away := s.deps()
	away.Store = awayStore{s.store}
	require.Error(t, s.look(away, held, time.Hour))
	require.Len(t, s.held(core.RoleTestrunner, "h1"), 3)
	require.NoError(t, s.look(s.deps(), held, time.Hour))
	require.Empty(t, s.held(core.RoleTestrunner, "h1"))
	require.Equal(t, core.RequestCompleted, s.state(ids[0]))
	require.Equal(t, core.RequestCancelled, s.state(ids[1]))
	require.Empty(t, s.place(ids[0]).State)
	for attempt := range 5 {
		s.b.Hasten(t, s.cluster)
		s.claim("h1", "again", 1, time.Hour)
		require.NoError(t, s.look(s.deps(), s.held(core.RoleTestrunner, "h1"), time.Hour))
		require.Equal(t, attempt+2, s.place(ids[2]).Attempts)
	}
	require.Equal(t, core.RequestQueued, s.state(ids[2]), "nobody died")
	coretest.RequireSound(t, s.cluster)
}

// awayStore cannot be asked what ended.
type awayStore struct{ core.ResultStore }

func (awayStore) Terminal(context.Context, []string) (map[string]core.RequestState, error) {
	return nil, core.Errorf(core.CodeUnavailable, "", "the store is away")
}

// A vmfactory's slots hang too: what it was making or destroying is destroyed anew.
func TestAHungVMIsDestroyed(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Hour)
	ctx, factory := context.Background(), core.OwnerName(core.RoleVMFactory, "h1", 0)
	require.NoError(t, s.cluster.Create(ctx, factory, s.epoch[factory], "h1", "again", []string{"stuck"}))
	held := s.held(core.RoleVMFactory, "h1")
	require.Len(t, held, 1)
	require.NoError(t, s.look(s.deps(), held, time.Minute))
	require.Len(t, s.held(core.RoleVMFactory, "h1"), 1, "a slow one is not hung")
	require.NoError(t, s.look(s.deps(), held, 11*time.Minute))
	require.Empty(t, s.held(core.RoleVMFactory, "h1"))
	vms, err := s.cluster.Destroy(ctx, factory, s.epoch[factory], "h1", 5)
	require.NoError(t, err)
	require.Equal(t, []string{"stuck"}, vms)
	require.NoError(t, s.look(s.deps(), s.held(core.RoleVMFactory, "h1"), 11*time.Minute))
	vms, err = s.cluster.Destroy(ctx, factory, s.epoch[factory], "h1", 5)
	require.NoError(t, err)
	require.Equal(t, []string{"stuck"}, vms, "its destruction hung, so it is tried anew")
	coretest.RequireSound(t, s.cluster)
}

// A task that does not go on is given to another taskrunner.
func TestAHungTaskIsTakenBack(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	ctx := context.Background()
	owner := core.OwnerName(core.RoleTaskrunner, "h1", 0)
	reg, err := s.cluster.Register(ctx, core.Registration{Owner: owner, Host: "h1", Machine: "h1", Beat: time.Hour})
	require.NoError(t, err)
	task, _, err := s.in.SubmitTask(ctx, core.Task{Kind: core.KindPurge})
	require.NoError(t, err)
	got, err := s.cluster.ExchangeTasks(ctx, core.TaskExchange{Owner: owner, Epoch: reg.Epoch, Seq: 1, Want: 1, TokenBase: 1, Beat: time.Hour})
	require.NoError(t, err)
	require.Len(t, got.Claims, 1)
	require.NoError(t, s.look(s.deps(), s.held(core.RoleTaskrunner, "h1"), 30*time.Minute))
	require.Len(t, s.held(core.RoleTaskrunner, "h1"), 1)
	require.NoError(t, s.look(s.deps(), s.held(core.RoleTaskrunner, "h1"), 2*time.Hour))
	require.Empty(t, s.held(core.RoleTaskrunner, "h1"))
	got, err = s.cluster.ExchangeTasks(ctx, core.TaskExchange{Owner: owner, Epoch: reg.Epoch, Seq: 2, Want: 5, TokenBase: 2, Beat: time.Hour})
	require.NoError(t, err)
	tries := map[string]int{}
	for _, claim := range got.Claims {
		tries[claim.Task.ID] = claim.Attempts
	}
	require.Equal(t, 1, tries[task.ID], "it waits again, with one attempt used: %v", tries)
	coretest.RequireSound(t, s.cluster)
}

// The overseer is killed at every step of taking hung work back; the next one goes on.
func TestKilledAtEveryStepOfTheHung(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("in effect %v", after), func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				s := newScene(t, coretest.Real(t))
				s.host("h1", time.Hour)
				ids := s.submit("again", 2)
				claims := s.claim("h1", "again", 2, time.Hour)
				_, err := s.cluster.Cancel(context.Background(), claims[1].Key, "alice", core.CancelAny)
				require.NoError(t, err)
				held := s.held(core.RoleTestrunner, "h1")
				m := &mortal{at: at, after: after}
				deps := s.deps()
				deps.Owners, deps.Hosts, deps.Store = mortalOwners{s.cluster, m}, mortalHosts{s.cluster, m}, mortalStore{s.store, m}
				require.Equal(t, s.look(deps, held, time.Hour) != nil, m.dead, "what failed is told")
				require.NoError(t, s.look(s.deps(), held, time.Hour))
				require.Empty(t, s.held(core.RoleTestrunner, "h1"))
				require.Equal(t, 1, s.place(ids[0]).Attempts)
				s.requireCancelled(ids[1], m.dead)
				coretest.RequireSound(t, s.cluster)
				if !m.dead {
					require.Greater(t, at, 8)
					return
				}
			}
		})
	}
}

// requireCancelled requires that a request whose slot was emptied is ended as its user wished, or,
// if the overseer died over it, will be by its next claim.
func (s *scene) requireCancelled(id string, died bool) {
	s.t.Helper()
	if died && s.state(id) == core.RequestQueued {
		require.Equal(s.t, core.RequestQueued, s.place(id).State)
		by, err := s.b.Admin.HGet(context.Background(), s.cluster.Namespace().Key("cancels"), core.Key(id, 1)).Result()
		require.NoError(s.t, err)
		require.Equal(s.t, "alice", by)
		return
	}
	require.Equal(s.t, core.RequestCancelled, s.state(id))
}

// goesOn is an owner that makes progress in a slot after it was read, and before it is revoked.
type goesOn struct {
	core.Owners
	goOn func() error
	told error
}

func (g *goesOn) Revoke(ctx context.Context, owner string, h core.Held, it core.Settlement, why string) error {
	g.told = g.goOn()
	return g.Owners.Revoke(ctx, owner, h, it, why)
}

// Between two heartbeats an owner may have been silent without anybody's notice, and its report late for that.
func TestTheGraceIsNoShorterThanTwoBeats(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Mini(t))
	s.host("h1", time.Hour)
	s.submit("again", 1)
	s.claim("h1", "again", 1, time.Hour)
	s.beat = 10 * time.Second
	held, stage := s.held(core.RoleTestrunner, "h1"), core.DefaultPool("again").StageTimeout
	require.NoError(t, s.look(s.deps(), held, stage+15*time.Second))
	require.Len(t, s.held(core.RoleTestrunner, "h1"), 1)
	require.NoError(t, s.look(s.deps(), held, stage+21*time.Second))
	require.Empty(t, s.held(core.RoleTestrunner, "h1"))
}

// Nothing is recorded of a slot whose owner makes progress just before it is emptied, since it
// hung or its host is drained: not that it is dead, nor that it was cancelled. What the owner
// records counts.
func TestASlotThatGoesOn(t *testing.T) {
	t.Parallel()
	ctx, runner := context.Background(), core.OwnerName(core.RoleTestrunner, "h1", 0)
	for name, empty := range map[string]func(s *scene, deps overseer.Deps) error{
		"hung": func(s *scene, deps overseer.Deps) error {
			return s.look(deps, s.held(core.RoleTestrunner, "h1"), time.Hour)
		},
		"drained": func(s *scene, deps overseer.Deps) error {
			require.NoError(s.t, s.cluster.Drain(ctx, "h1", true, 20*time.Second))
			deps.Queue = coretest.Clocked{Queue: deps.Queue, Now: clock.NewManual(time.UnixMilli(s.hosts()["h1"].DrainUntil + 1)).Now}
			_, err := s.oversee(deps)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := coretest.Real(t)
			s := newScene(t, b)
			s.host("h1", time.Hour)
			ids := s.submit("again", 1)
			for range 3 { // three of its VMs died
				s.end("h1", s.claim("h1", "again", 1, time.Hour), core.OutcomeBroken)
				s.b.Hasten(t, s.cluster)
			}
			c := s.claim("h1", "again", 1, time.Hour)[0]
			_, err := s.cluster.Cancel(ctx, c.Key, "alice", core.CancelAny)
			require.NoError(t, err)
			deps := s.deps()
			owners := &goesOn{Owners: s.cluster, goOn: func() error {
				return s.cluster.Progress(ctx, runner, s.epoch[runner], c.Key, c.Token, "running", time.Minute)
			}, told: errors.New("nobody tried to empty it")}
			deps.Owners = owners
			require.NoError(t, empty(s, deps))
			require.NoError(t, owners.told)
			require.Len(t, s.held(core.RoleTestrunner, "h1"), 1)
			first, err := s.store.Record(ctx, core.Result{ID: ids[0], Generation: 1, State: core.RequestCompleted, Token: c.Token, VM: c.VM})
			require.NoError(t, err)
			require.True(t, first)
		})
	}
}

// A step of Redis' clock, or a silence of Redis that outlasts what owners declared, takes nothing
// that runs for hung: the limits begin anew, and what hangs is found by them.
func TestAStepOfTheClockHangsNothing(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]time.Duration{
		"two minutes on": 2 * time.Minute, "a day on": 24 * time.Hour, "two minutes back": -2 * time.Minute, "a day back": -24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := coretest.Mini(t)
			now := time.Now()
			pass := func(d time.Duration) { now = now.Add(d); b.Mini.SetTime(now) }
			pass(0)
			s := newScene(t, b)
			s.host("h1", time.Second)
			s.host("h2", time.Second)
			ids, ctx := s.submit("again", 8), context.Background()
			for _, host := range []string{"h1", "h2"} {
				runner := core.OwnerName(core.RoleTestrunner, host, 0)
				for _, c := range s.claim(host, "again", 4, time.Second) {
					require.NoError(t, s.cluster.Progress(ctx, runner, s.epoch[runner], c.Key, c.Token, "running", 30*time.Second))
				}
			}
			inHand := func() int { return len(s.held(core.RoleTestrunner, "h1")) + len(s.held(core.RoleTestrunner, "h2")) }
			oversee := func() {
				for _, o := range s.owners() {
					_, err := s.cluster.Beat(ctx, o, s.epoch[o], time.Second)
					require.NoError(t, err)
				}
				_, err := s.oversee(s.deps())
				require.NoError(t, err)
			}
			pass(step)
			for range 29 {
				pass(time.Second)
				oversee()
				require.Equal(t, 8, inHand(), "all of them began less than their limit ago")
			}
			for range 10 {
				pass(time.Second)
				oversee()
			}
			require.Zero(t, inHand(), "now they hang")
			for _, id := range ids {
				require.Equal(t, 1, s.place(id).Attempts)
			}
		})
	}
}
