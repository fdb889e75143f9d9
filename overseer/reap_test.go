package overseer_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"
	"drover/core/requests/intake"
	"drover/core/store/sqlite/sqlitetest"
	"drover/overseer"
)

// Lateness counts from the start of Redis at the earliest, and that may be just
// now: suspect is long past when down is reached.
const (
	beat    = time.Millisecond
	suspect = 2 * time.Millisecond
	down    = 100 * time.Millisecond
)

// scene is a cluster with one host that died in the middle of work.
type scene struct {
	t       *testing.T
	b       *coretest.Backend
	cluster *redisstore.Store
	store   core.ResultStore
	in      *intake.Intake
	seq     map[string]int64
	epoch   map[string]int64
	beat    time.Duration // of the overseer's settings
}

func newScene(t *testing.T, b *coretest.Backend) *scene {
	store := sqlitetest.Open(t)
	opts := b.Options()
	if opts.Incarnation == "" {
		opts.Incarnation, opts.Born = b.Name, time.UnixMilli(0) // it has served for long, so nobody has a grace
	}
	cluster, err := redisstore.Open(context.Background(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cluster.Close()) })
	s := &scene{
		t: t, b: b, cluster: cluster, store: store, seq: map[string]int64{}, epoch: map[string]int64{}, beat: beat,
		in: &intake.Intake{Store: store, Queue: cluster, Pools: cluster, Tasks: cluster},
	}
	for name, loss := range losses {
		p := core.DefaultPool(name)
		p.Max, p.OnHostLoss = 100, loss
		require.NoError(t, s.in.SetPool(context.Background(), p))
	}
	return s
}

// losses are the pools of a scene, and what becomes of their work when it is lost.
var losses = map[string]string{"again": core.OnHostLossRequeue, "once": core.OnHostLossFail}

// host registers a testrunner and a vmfactory, which live for as long as said,
// and gives the host ten VMs of each pool.
func (s *scene) host(name string, life time.Duration) { s.hostWith(name, life, 10) }

// hostWith gives it n VMs of each pool.
func (s *scene) hostWith(name string, life time.Duration, n int) {
	ctx := context.Background()
	for _, role := range []core.Role{core.RoleTestrunner, core.RoleVMFactory} {
		owner := core.OwnerName(role, name, 0)
		reg, err := s.cluster.Register(ctx, core.Registration{Owner: owner, Host: name, Machine: name, Beat: life})
		require.NoError(s.t, err)
		s.epoch[owner], s.seq[owner] = reg.Epoch, 0
	}
	factory := core.OwnerName(core.RoleVMFactory, name, 0)
	_, err := s.cluster.Reconcile(ctx, factory, s.epoch[factory], name, nil, nil)
	require.NoError(s.t, err)
	pools := []string{"again", "once"}
	require.NoError(s.t, s.cluster.Note(ctx, factory, s.epoch[factory], name, core.HostNotes{Serves: pools}))
	for _, pool := range pools {
		made := map[string]bool{}
		var vms []string
		for i := range n {
			vm := fmt.Sprintf("%s-%s-%d-%d", name, pool, s.epoch[factory]%1e6, i)
			vms, made[vm] = append(vms, vm), true
		}
		require.NoError(s.t, s.cluster.Create(ctx, factory, s.epoch[factory], name, pool, vms))
		require.NoError(s.t, s.cluster.Ready(ctx, factory, s.epoch[factory], name, made))
	}
}

func (s *scene) submit(pool string, n int) []string { return s.submitAs(pool, n, nil) }

func (s *scene) submitAs(pool string, n int, change func(*core.Spec)) (ids []string) {
	for range n {
		spec := coretest.Spec("", pool, "alice")
		spec.ID, spec.Generation, spec.Limits = "", 0, core.Limits{}
		if change != nil {
			change(&spec)
		}
		row, first, err := s.in.Submit(context.Background(), spec)
		require.NoError(s.t, err)
		require.True(s.t, first)
		ids = append(ids, row.Spec.ID)
	}
	return ids
}

// claim lets a host's testrunner claim n requests of a pool; its next heartbeat is due as said.
func (s *scene) claim(host, pool string, n int, life time.Duration, finish ...core.Finish) []core.Claim {
	owner := core.OwnerName(core.RoleTestrunner, host, 0)
	s.seq[owner]++
	x, err := s.cluster.Exchange(context.Background(), core.Exchange{
		Owner: owner, Host: host, Epoch: s.epoch[owner], Seq: s.seq[owner], Pools: []string{pool},
		Finish: finish, Want: n, TokenBase: s.seq[owner] * 1000, Beat: life,
	})
	require.NoError(s.t, err)
	require.Len(s.t, x.Claims, n)
	for _, c := range x.Claims {
		if spec := c.ReadSpec(); spec.RunsOnce(core.Pool{OnHostLoss: losses[pool]}) {
			_, err := s.store.BeginRequest(context.Background(), c.Key, owner+" "+c.Token) // as a testrunner does
			require.NoError(s.t, err)
		}
	}
	return x.Claims
}

// end finishes claims of a host.
func (s *scene) end(host string, claims []core.Claim, outcome core.Outcome) {
	finish := make([]core.Finish, len(claims))
	for i, c := range claims {
		finish[i] = core.Finish{Key: c.Key, Token: c.Token, Outcome: outcome}
	}
	s.claim(host, "again", 0, time.Minute, finish...)
}

// moves are the records of evacuations: state, from and to of each request.
func (s *scene) moves() map[string]string {
	all, err := s.cluster.Evacuations(context.Background())
	require.NoError(s.t, err)
	out := make(map[string]string)
	for _, m := range all {
		id, _, err := core.ParseKey(m.Key)
		require.NoError(s.t, err)
		out[id] += strings.TrimSpace(fmt.Sprintf("%s %s>%s", m.State, m.From, m.To))
	}
	return out
}

func (s *scene) deps() overseer.Deps {
	log, _ := test.NewNullLogger()
	return overseer.Deps{
		Owners: s.cluster, Hosts: s.cluster, Pools: s.cluster, Queue: s.cluster, Evacuations: s.cluster, Placements: s.cluster, Leased: s.cluster, Reports: s.cluster, History: s.cluster, Consistency: s.cluster,
		Store: s.store, Intake: s.in, Cancel: s.in.Cancel, Log: log,
	}
}

// depsAt are those of an overseer whose Redis has another clock.
func (s *scene) depsAt(now func() time.Time) overseer.Deps {
	deps := s.deps()
	deps.Queue = coretest.Clocked{Queue: deps.Queue, Now: now}
	return deps
}

// oversee runs the chores once, by the given parts.
func (s *scene) oversee(deps overseer.Deps) (overseer.Counts, error) {
	o, err := overseer.New(overseer.Config{Beat: s.beat, Suspect: max(suspect, s.beat), Down: max(down, s.beat), KeepTombstones: time.Hour}, deps)
	require.NoError(s.t, err)
	report, err := o.Once(context.Background())
	return countsOf(report, "reap"), err
}

func countsOf(report overseer.Report, chore string) overseer.Counts {
	for _, done := range report.Chores {
		if done.Chore == chore {
			return done.Counts
		}
	}
	return nil
}

// until lets overseers work, time after time, until something is reached.
func (s *scene) until(deps overseer.Deps, reached func() bool) {
	s.t.Helper()
	for late := time.After(5 * time.Minute); !reached(); {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			s.t.Fatal("it never came to that")
		}
		_, err := s.oversee(deps)
		require.NoError(s.t, err)
	}
}

func (s *scene) owners() (names []string) {
	infos, err := s.cluster.ListOwners(context.Background())
	require.NoError(s.t, err)
	for _, o := range infos {
		names = append(names, o.Name)
	}
	return names
}

func (s *scene) place(id string) core.Place {
	p, err := s.cluster.Locate(context.Background(), core.Key(id, 1))
	require.NoError(s.t, err)
	return p
}

func (s *scene) state(id string) core.RequestState {
	row, err := s.store.Get(context.Background(), id)
	require.NoError(s.t, err)
	return row.State
}

// A testrunner is lost on a host that lives: its work is queued again, unless it must not run twice; that it died
// nobody knows, so nothing is dead by it.
func TestALostOwnerIsReaped(t *testing.T) {
	t.Parallel()
	coretest.Each(t, func(t *testing.T, b *coretest.Backend) {
		s := newScene(t, b)
		s.host("h1", time.Minute)
		ids, once := s.submit("again", 4), s.submit("once", 1)[0]
		s.claim("h1", "once", 1, time.Minute)
		runner := core.OwnerName(core.RoleTestrunner, "h1", 0)
		for attempt := 1; attempt <= 2; attempt++ {
			s.claim("h1", "again", 4, time.Millisecond)
			s.until(s.deps(), func() bool { return len(s.owners()) == 1 })
			for _, id := range ids {
				require.Equal(t, core.RequestQueued, s.place(id).State)
				require.Equal(t, attempt, s.place(id).Attempts)
			}
			require.Equal(t, core.RequestFailed, s.state(once))
			s.b.Hasten(t, s.cluster)
			reg, err := s.cluster.Register(context.Background(), core.Registration{Owner: runner, Host: "h1", Machine: "h1", Beat: time.Minute})
			require.NoError(t, err)
			require.Empty(t, reg.Left)
			s.epoch[runner], s.seq[runner] = reg.Epoch, 0
		}
		coretest.RequireSound(t, s.cluster)
	})
}

// A whole host is lost: its pools' policy decides, its VMs are forgotten, its
// owners too; the work of others on other hosts is untouched.
func TestALostHostIsTakenDown(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	again, once := s.submit("again", 3), s.submit("once", 3)
	s.claim("h1", "again", 2, time.Minute)
	s.claim("h1", "once", 2, time.Minute)
	s.claim("h2", "again", 1, time.Minute)
	s.claim("h2", "once", 1, time.Minute)
	s.die("h1")
	s.until(s.deps(), func() bool { return len(s.owners()) == 2 })

	for i, id := range again {
		if i < 2 {
			require.Equal(t, core.RequestQueued, s.place(id).State)
			require.Equal(t, "h2", s.place(id).Assigned)
		} else {
			require.Equal(t, core.RequestClaimed, s.place(id).State)
		}
	}
	for i, id := range once {
		if i < 2 {
			require.Equal(t, core.RequestFailed, s.state(id))
			row, err := s.store.Get(context.Background(), id)
			require.NoError(t, err)
			require.Equal(t, core.BlamePlatform, row.Result.Blame)
		} else {
			require.Equal(t, core.RequestClaimed, s.place(id).State)
		}
	}
	vms, err := s.cluster.ListVMs(context.Background(), "h1")
	require.NoError(t, err)
	require.Empty(t, vms)
	hosts, err := s.cluster.ListHosts(context.Background())
	require.NoError(t, err)
	require.Equal(t, core.HostDown, hosts[0].State)
	require.Equal(t, core.HostUp, hosts[1].State)
	coretest.RequireSound(t, s.cluster)

	s.host("h1", time.Minute) // it comes back
	s.claim("h1", "again", 0, time.Minute)
	s.claim("h2", "again", 2, time.Minute)
	coretest.RequireSound(t, s.cluster)
}

// die makes all of a host's owners late at once.
func (s *scene) die(host string) {
	for _, role := range []core.Role{core.RoleTestrunner, core.RoleVMFactory} {
		owner := core.OwnerName(role, host, 0)
		require.NoError(s.t, s.b.Admin.ZAdd(context.Background(), s.b.Namespace+":owners", redis.Z{Score: 1, Member: owner}).Err())
	}
	require.NoError(s.t, s.b.Admin.ZAdd(context.Background(), s.b.Namespace+":hosts", redis.Z{Score: 1, Member: host}).Err())
}

// The testrunner's heartbeat ends a little earlier than its vmfactory's: it
// must not be reaped as if it had died alone.
func TestAnOwnerOfASuspectHostWaits(t *testing.T) {
	t.Parallel()
	b := coretest.Mini(t) // a server that has served for long
	s := newScene(t, b)
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	id := s.submit("once", 1)[0]
	s.claim("h1", "once", 1, time.Minute)
	ctx := context.Background()
	now, err := b.Admin.Time(ctx).Result()
	require.NoError(t, err)
	owners, hosts := b.Namespace+":owners", b.Namespace+":hosts"
	lateBy := func(d time.Duration) float64 { return float64(now.Add(-d).UnixMilli()) }
	require.NoError(t, b.Admin.ZAdd(ctx, owners, redis.Z{Score: 1, Member: core.OwnerName(core.RoleTestrunner, "h1", 0)}).Err())
	require.NoError(t, b.Admin.ZAdd(ctx, owners, redis.Z{Score: lateBy(time.Hour), Member: core.OwnerName(core.RoleVMFactory, "h1", 0)}).Err())
	require.NoError(t, b.Admin.ZAdd(ctx, hosts, redis.Z{Score: lateBy(time.Second), Member: "h1"}).Err())

	other, err := overseer.New(overseer.Config{Beat: beat, Suspect: suspect, Down: time.Hour}, s.deps())
	require.NoError(t, err)
	for range 3 {
		_, err = other.Once(ctx)
		require.NoError(t, err)
	}
	require.Len(t, s.owners(), 4, "nobody was reaped")
	require.Equal(t, core.RequestClaimed, s.place(id).State)

	s.until(s.deps(), func() bool { return len(s.owners()) == 2 })
	require.Equal(t, core.RequestFailed, s.state(id), "the host was lost, not the testrunner alone")
}

// together lets n overseers do all they do at once, ten times each.
func (s *scene) together(n int) {
	s.t.Helper()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for range 10 {
				o, err := overseer.New(overseer.Config{Beat: beat, Suspect: suspect, Down: down}, s.deps())
				if err == nil {
					_, err = o.Once(context.Background())
				}
				if err != nil {
					s.t.Errorf("an overseer failed: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// Many overseers at once do what one would.
func TestManyOverseers(t *testing.T) {
	t.Parallel()
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	ids := s.submit("again", 10)
	s.claim("h1", "again", 10, time.Minute)
	s.die("h1")
	s.together(8)
	s.until(s.deps(), func() bool { return len(s.owners()) == 2 })
	for _, id := range ids {
		require.Equal(t, core.RequestQueued, s.place(id).State)
		require.Equal(t, 1, s.place(id).Attempts, "one loss costs one attempt")
	}
	coretest.RequireSound(t, s.cluster)
}

// An overseer is killed at every step of healing a lost host; the next one goes on.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("in effect %v", after), func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				lived := false
				if !t.Run(fmt.Sprint("call ", at), func(t *testing.T) { lived = killedAt(t, at, after) }) || lived {
					require.Greater(t, at, 15, "healing has more steps than that")
					return
				}
			}
		})
	}
}

func killedAt(t *testing.T, at int, after bool) bool {
	s := newScene(t, coretest.Real(t))
	s.host("h1", time.Minute)
	s.host("h2", time.Minute)
	again, once := s.submit("again", 3), s.submit("once", 3)
	s.claim("h1", "again", 2, time.Minute)
	claims := s.claim("h1", "once", 2, time.Minute)
	key := claims[0].Key
	_, err := s.cluster.Cancel(context.Background(), key, "alice", core.CancelAny)
	require.NoError(t, err)
	s.die("h1")
	m := &mortal{at: at, after: after}
	deps := s.deps()
	deps.Queue, deps.Evacuations = mortalQueue{s.cluster, m}, mortalEvacuations{s.cluster, m}
	deps.Owners, deps.Hosts, deps.Store = mortalOwners{s.cluster, m}, mortalHosts{s.cluster, m}, mortalStore{s.store, m}
	_, err = s.oversee(deps)
	require.Equal(t, m.dead, err != nil, "what failed is told")

	s.until(s.deps(), func() bool { return len(s.owners()) == 2 })
	for i, id := range again {
		require.Equal(t, core.RequestQueued, s.place(id).State)
		require.Equal(t, min(1, max(0, 2-i)), s.place(id).Attempts)
	}
	for i, id := range once {
		want := []core.RequestState{core.RequestCancelled, core.RequestFailed, core.RequestQueued}[i]
		require.Equal(t, want, s.state(id))
	}
	coretest.RequireSound(t, s.cluster)
	return !m.dead
}
