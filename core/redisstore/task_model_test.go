package redisstore_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// taskModel is what tasks must do, said a second time: taskrunners, people and the clock do
// at random what they may do, and whatever Redis answers must be allowed here. After each
// step the consistency check finds nothing; at the end all that was accepted has ended.
type taskModel struct {
	*suite
	tb    *testing.T
	t     *rapid.T
	at    time.Time
	tasks map[string]*modelTask
	keys  []string                  // of tasks, oldest first
	lanes map[string][]string       // priority/kind/lane → keys that wait, first to go first
	ahead map[string]map[string]int // lane → others of its kind → how often they went since it could have
	front map[string]bool           // lanes that something was given back to, which goes first
	rates map[string]core.TaskRate
	began map[string][]time.Time // kind → when its tasks began, since the rates are as they are
	hands []*modelHand
	seen  *redisstore.Look // after the last call

	draining bool
}

type modelTask struct {
	core.Task
	state core.TaskState
	due   time.Time
	tries int
	by    string         // who cancelled it
	end   core.TaskState // that the result store has recorded
	token string
	owner *modelHand
}

type modelHand struct {
	owner string
	epoch int64
	seq   int64
}

var (
	modelKinds      = []string{"archive", "rerun", "webhook"}
	modelPriorities = []core.Priority{core.PriorityNormal, core.PriorityLow}
)

func (t *modelTask) lane() string { return fmt.Sprint(t.Priority, "/", t.Kind, "/", t.Lane) }

func TestModelOfTasks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		x := newSuite(t, coretest.Mini(t), false)
		defer x.b.Mini.Close()
		m := &taskModel{
			suite: x, tb: t, t: r, at: start, tasks: make(map[string]*modelTask), lanes: make(map[string][]string),
			ahead: make(map[string]map[string]int), front: make(map[string]bool),
			rates: make(map[string]core.TaskRate), began: make(map[string][]time.Time),
		}
		for i := range 2 {
			h := &modelHand{owner: core.OwnerName(core.RoleTaskrunner, "h1", i)}
			h.epoch = x.Register(t, h.owner).Epoch
			m.hands = append(m.hands, h)
		}
		x.Store.Client().AddHook(watcher{m.look, func() { m.seen = nil }, m.check})
		r.Repeat(map[string]func(*rapid.T){
			"enqueue": func(*rapid.T) {
				for range 1 + m.n("many", 4) {
					m.enqueue()
				}
			},
			"exchange": func(*rapid.T) { m.exchange(m.hands[m.n("who", 2)], m.n("want", 7)) },
			"pass":     func(*rapid.T) { m.pass(time.Duration(m.n("ms", 3000)) * time.Millisecond) },
			"wake":     m.wake, "cancel": m.cancel, "rate": m.rate, "die": m.die, "progress": m.progress,
			"revoke": m.revoke,
			"promote": func(*rapid.T) {
				_, err := m.Store.Promote(context.Background())
				require.NoError(m.t, err)
				m.promote()
			},
			"beat": func(*rapid.T) {
				h := m.hands[m.n("who", 2)]
				require.NoError(m.t, coretest.ErrOf(m.Store.Beat(context.Background(), h.owner, h.epoch, time.Hour)))
				m.promote()
			},
			"": func(r *rapid.T) {
				found, err := x.Store.CheckConsistency(context.Background())
				require.NoError(r, err)
				require.Empty(r, found)
				m.places()
			},
		})
		m.drain()
	})
}

func (m *taskModel) n(what string, most int) int { return rapid.IntRange(0, most-1).Draw(m.t, what) }

// pick draws one of the tasks that are so; nil if none is.
func (m *taskModel) pick(what string, is func(*modelTask) bool) (string, *modelTask) {
	var some []string
	for _, key := range m.keys {
		if is(m.tasks[key]) {
			some = append(some, key)
		}
	}
	if len(some) == 0 {
		return "", nil
	}
	key := some[m.n(what, len(some))]
	return key, m.tasks[key]
}

func (m *taskModel) enqueue() {
	if len(m.keys) > 0 && m.n("again", 5) == 0 {
		_, known := m.pick("known", func(*modelTask) bool { return true })
		if err := m.Store.EnqueueTask(context.Background(), known.Task); !core.Is(err, core.CodeEnded) {
			require.NoError(m.t, err, "it changes nothing")
		}
		return
	}
	task := &modelTask{Task: core.Task{
		ID: fmt.Sprint("t", len(m.keys)), Generation: 1 + m.n("generation", 2), Kind: modelKinds[m.n("kind", 3)],
		Priority: modelPriorities[m.n("priority", 2)], Lane: string(rune('a' + m.n("lane", 2))),
	}}
	task.state = core.TaskQueued
	if m.n("delayed", 4) == 0 {
		task.state, task.due = core.TaskDelayed, m.at.Add(time.Duration(1+m.n("delay", 5000))*time.Millisecond)
		task.NotBefore = task.due.UnixMilli()
	} else {
		m.wait(task, false)
	}
	m.tasks[task.Key()], m.keys = task, append(m.keys, task.Key())
	require.NoError(m.t, m.Store.EnqueueTask(context.Background(), task.Task))
}

func (m *taskModel) wait(task *modelTask, front bool) {
	lane := task.lane()
	task.state, task.due, task.owner = core.TaskQueued, time.Time{}, nil
	if len(m.lanes[lane]) == 0 {
		m.ahead[lane] = make(map[string]int)
	}
	if front {
		m.front[lane] = true
		m.lanes[lane] = slices.Insert(m.lanes[lane], 0, task.Key())
	} else {
		m.lanes[lane] = append(m.lanes[lane], task.Key())
	}
}

func (m *taskModel) pass(d time.Duration) {
	m.at = m.at.Add(d)
	m.b.Mini.SetTime(m.at)
}

// promote lets go what is due, in the order of Redis' sorted sets.
func (m *taskModel) promote() {
	var due []string
	for _, key := range m.keys {
		if task := m.tasks[key]; task.state == core.TaskDelayed && !task.due.After(m.at) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b string) int {
		return cmp.Or(m.tasks[a].due.Compare(m.tasks[b].due), strings.Compare(a, b))
	})
	for _, key := range due {
		m.wait(m.tasks[key], false)
	}
}

// ends draws how a taskrunner ends some of its tasks.
func (m *taskModel) ends(h *modelHand) []core.TaskFinish {
	var out []core.TaskFinish
	for _, key := range m.keys {
		task := m.tasks[key]
		if task.owner != h || !m.draining && m.n("goes on", 2) == 0 {
			continue
		}
		if m.draining {
			m.record(task, core.OutcomeDone)
			out = append(out, core.TaskFinish{Key: key, Token: task.token, Outcome: core.OutcomeDone})
			continue
		}
		outcomes := []core.Outcome{core.OutcomeDone, core.OutcomeDead, core.OutcomeRelease, core.OutcomeRetry, core.OutcomeLater}
		outcome := outcomes[m.n("outcome", len(outcomes))]
		m.record(task, outcome)
		out = append(out, core.TaskFinish{
			Key: key, Token: task.token, Outcome: outcome,
			Delay: time.Duration(m.n("pause", 3000)) * time.Millisecond,
		})
	}
	return out
}

// finish ends claims as the scripts are to do it.
func (m *taskModel) finish(ends []core.TaskFinish) {
	for _, f := range slices.Backward(ends) {
		task := m.tasks[f.Key]
		task.owner = nil
		if f.Outcome != core.OutcomeLater {
			task.Progress = nil
		}
		switch f.Outcome {
		case core.OutcomeRelease:
			m.wait(task, true)
		case core.OutcomeRetry, core.OutcomeLater:
			task.state, task.due = core.TaskDelayed, m.at.Add(f.Delay)
			if f.Outcome == core.OutcomeRetry {
				task.tries++
			}
		default:
			task.state = task.end
		}
	}
}

// exchange makes a call, twice, and holds the answer against what may be.
func (m *taskModel) exchange(h *modelHand, want int) {
	h.seq++
	call := core.TaskExchange{
		Owner: h.owner, Epoch: h.epoch, Seq: h.seq, Want: want, TokenBase: h.seq, Finish: m.ends(h), Beat: time.Hour,
	}
	got, err := m.Store.ExchangeTasks(context.Background(), call)
	require.NoError(m.t, err)
	again, err := m.Store.ExchangeTasks(context.Background(), call)
	require.NoError(m.t, err)
	require.Equal(m.t, got, again, "the same call, the same answer")
	require.NotContains(m.t, got.Finished, false)
	m.finish(call.Finish)
	m.promote()
	for _, c := range got.Claims {
		m.claimed(h, c)
	}
	require.LessOrEqual(m.t, len(got.Claims), want)
	next := time.Duration(0)
	if len(got.Claims) < want {
		next = m.next()
	}
	require.Equal(m.t, next, got.Next)
	stop := make(map[string]string)
	for key, task := range m.tasks {
		if task.owner == h && task.by != "" {
			stop[key] = task.by
		}
	}
	require.Equal(m.t, stop, got.Cancelled)
}

// claimed holds a claim against what waits, turns and rates.
func (m *taskModel) claimed(h *modelHand, c core.TaskClaim) {
	key := c.Task.Key()
	task := m.tasks[key]
	require.NotNil(m.t, task, key)
	require.Equal(m.t, core.TaskQueued, task.state, key)
	lane := task.lane()
	require.Equal(m.t, m.lanes[lane][0], key, "the first of its lane goes first")
	bare := task.Task
	bare.Progress = nil
	require.Equal(m.t, core.TaskClaim{Task: bare, Token: fmt.Sprintf("%d.%d", h.epoch, h.seq), Attempts: task.tries, Cancelled: task.by}, c)
	m.lanes[lane] = m.lanes[lane][1:]
	m.ahead[lane] = make(map[string]int)
	for other, waits := range m.lanes {
		if len(waits) > 0 && other != lane && path.Dir(other) == path.Dir(lane) && !m.front[lane] {
			m.ahead[other][lane]++
			require.LessOrEqual(m.t, m.ahead[other][lane], 1, "%s goes again before %s", lane, other)
		}
	}
	delete(m.front, lane)
	task.state, task.owner, task.token = core.TaskRunning, h, c.Token
	wait, full := m.held(task.Kind)
	require.Zero(m.t, wait, "the rate of %s", task.Kind)
	m.began[task.Kind] = append(m.began[task.Kind], m.at)
	require.False(m.t, full && m.inHand(task.Kind) > m.rates[task.Kind].Most)
}

func (m *taskModel) inHand(kind string) (n int) {
	for _, task := range m.tasks {
		if task.owner != nil && task.Kind == kind {
			n++
		}
	}
	return n
}

// held says how long the rate of a kind holds the next one back, by all that began: of any of
// them on, in any time there may be no more than the burst and one per period. Full says
// that as many are running as may be.
func (m *taskModel) held(kind string) (wait time.Duration, full bool) {
	rate, began := m.rates[kind], m.began[kind]
	for i, at := range began {
		from := time.Duration(len(began)-i-max(rate.Burst, 1)+1) * rate.Every
		wait = max(wait, at.Add(from).Sub(m.at))
	}
	return wait, rate.Most > 0 && m.inHand(kind) >= rate.Most
}

// next is when something may begin where nothing can now.
func (m *taskModel) next() time.Duration {
	next := time.Duration(math.MaxInt64)
	for _, task := range m.tasks {
		switch task.state { //nolint:exhaustive // the others wait for nothing
		case core.TaskDelayed:
			next = min(next, max(time.Millisecond, task.due.Sub(m.at)))
		case core.TaskQueued:
			wait, full := m.held(task.Kind)
			require.True(m.t, full || wait > 0, "%s could have gone", task.Key())
			if !full {
				next = min(next, wait)
			}
		}
	}
	if next == math.MaxInt64 {
		return 0
	}
	return next
}

func (m *taskModel) wake(*rapid.T) {
	key, task := m.pick("woken", func(*modelTask) bool { return true })
	if task == nil {
		return
	}
	require.NoError(m.t, m.Store.WakeTask(context.Background(), key))
	if task.state == core.TaskDelayed {
		m.wait(task, false)
	}
}

// cancel marks a task and withdraws it if it waits, unless the caller dies in between.
func (m *taskModel) cancel(*rapid.T) {
	key, task := m.pick("cancelled", func(*modelTask) bool { return true })
	if task == nil {
		return
	}
	place, err := m.Store.CancelTask(context.Background(), key, "ann")
	require.NoError(m.t, err)
	waits := task.state == core.TaskQueued || task.state == core.TaskDelayed
	if !task.state.Terminal() {
		require.Equal(m.t, waits, place.Owner == "")
		task.by = "ann"
	} else {
		require.Empty(m.t, place)
	}
	if m.n("dies", 3) == 0 {
		return
	}
	if waits {
		task.end = core.TaskCancelled
	}
	was, err := m.Store.WithdrawTask(context.Background(), key)
	require.NoError(m.t, err)
	require.Equal(m.t, waits, was)
	if waits {
		task.state = task.end
		m.lanes[task.lane()] = slices.DeleteFunc(m.lanes[task.lane()], func(k string) bool { return k == key })
	}
}

// rate sets other rates, or the same again.
func (m *taskModel) rate(*rapid.T) {
	if m.n("other", 2) == 0 {
		require.NoError(m.t, m.Store.SetTaskRates(context.Background(), nil))
		clear(m.began)
		clear(m.rates)
		for _, kind := range modelKinds {
			m.rates[kind] = core.TaskRate{
				Every: time.Duration(m.n("every", 3)) * 700 * time.Millisecond, Burst: m.n("burst", 3), Most: m.n("most", 3),
			}
		}
	}
	require.NoError(m.t, m.Store.SetTaskRates(context.Background(), m.rates))
}

// die ends a taskrunner; its next start, or the overseer, settles what it held.
func (m *taskModel) die(*rapid.T) {
	h := m.hands[m.n("who", 2)]
	ctx := context.Background()
	reg := m.Register(m.tb, h.owner)
	h.epoch, h.seq = reg.Epoch, 0
	var items []core.Settlement
	var ends []core.TaskFinish
	for _, left := range reg.Left {
		outcome := m.settled(left.Key)
		items = append(items, core.Settlement{Key: left.Key, Token: left.Token, Outcome: outcome})
		end := m.lost(left.Key, outcome)
		ends = append(ends, end)
		require.Equal(m.t, h, m.tasks[left.Key].owner)
	}
	settled, err := m.Store.Settle(ctx, h.owner, h.epoch, items, 0)
	require.NoError(m.t, err)
	require.Equal(m.t, len(items), settled.Moved)
	m.finish(ends)
}

func (m *taskModel) progress(*rapid.T) {
	key, task := m.pick("progress", func(t *modelTask) bool { return t.owner != nil })
	if task == nil {
		return
	}
	p := &core.TaskProgress{Done: int64(m.n("done", 9)), Total: 9}
	require.NoError(m.t, m.Store.ProgressTask(context.Background(), task.owner.owner, task.owner.epoch, key, task.token, *p, time.Hour))
	task.Progress = p
}

// places holds where Redis has each task against where it is.
func (m *taskModel) places() {
	got, err := m.Store.LocateTasks(context.Background(), m.keys)
	require.NoError(m.t, err)
	for i, key := range m.keys {
		task := m.tasks[key]
		want := core.TaskPlace{State: task.state, Attempts: task.tries, Progress: task.Progress}
		switch {
		case task.state.Terminal():
			want = core.TaskPlace{}
		case task.state == core.TaskDelayed:
			want.Due = task.due.UnixMilli()
		case task.owner != nil:
			want.Owner, want.Since = task.owner.owner, got[i].Since
			if task.by != "" {
				want.State = core.TaskCancelling
			}
		}
		require.Equal(m.t, want, got[i], key)
	}
}

// drain ends all there is, without rates.
func (m *taskModel) drain() {
	m.draining = true
	clear(m.rates)
	require.NoError(m.t, m.Store.SetTaskRates(context.Background(), nil))
	for range len(m.keys) + 2 {
		for _, h := range m.hands {
			m.pass(time.Minute)
			m.exchange(h, 9)
		}
	}
	for _, key := range m.keys {
		require.True(m.t, m.tasks[key].state.Terminal(), key)
	}
	m.places()
}
