package taskrunner_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"drover/core"
	"drover/core/school"
)

const owner = "taskrunner@h1#0"

// cluster is Redis and the result store as a taskrunner sees them, in memory, so
// that tests run on virtual time. The real ones have their tests in redis_test.go.
type cluster struct {
	core.Owners
	core.Tasks // what a taskrunner does not call yet
	school.ResultStore

	mu       sync.Mutex
	tasks    map[string]core.Task
	queue    []string
	later    map[string]time.Time
	attempts map[string]int
	deaths   map[string][]core.Death
	slots    map[string]string // task → token
	epoch    int64
	fenced   bool
	gone     bool // deregistered
	seq      int64
	last     core.TaskExchanged
	calls    map[string]int
	beats    []time.Time
	bell     chan struct{}
	fault    func(op string) (before, after error)

	marked   map[string]string // cancelled → who cancelled it
	next     time.Duration     // answered where nothing could be claimed
	rates    map[string]core.TaskRate
	progress map[string][]told
	woken    []string

	rows     map[string]core.Task // of the store: parents
	ends     map[string]core.TaskState
	notes    map[string]string
	full     map[string]core.TaskEnd
	failures map[string][]core.TaskFailure
}

// told is progress as Redis got it.
type told struct {
	core.TaskProgress
	limit time.Duration
	at    time.Time
}

func newCluster() *cluster {
	return &cluster{
		tasks: map[string]core.Task{}, later: map[string]time.Time{}, attempts: map[string]int{}, deaths: map[string][]core.Death{}, slots: map[string]string{},
		calls: map[string]int{}, bell: make(chan struct{}, 1), ends: map[string]core.TaskState{}, notes: map[string]string{},
		marked: map[string]string{}, progress: map[string][]told{}, rows: map[string]core.Task{}, full: map[string]core.TaskEnd{},
		failures: map[string][]core.TaskFailure{},
		fault:    func(string) (error, error) { return nil, nil },
	}
}

var errDown = core.Errorf(core.CodeUnavailable, "", "Redis did not do it")

func (h *cluster) do(ctx context.Context, op string, epoch int64, script func()) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls[op]++
	before, after := h.fault(op)
	if before != nil {
		return before
	}
	if epoch != 0 && (h.fenced || h.epoch != epoch) {
		return core.Errorf(core.CodeFenced, owner, "the epoch of %s is over", owner)
	}
	script()
	return after
}

func (h *cluster) look(at func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at()
}

// called says how often something was asked for.
func (h *cluster) called(op string) (n int) {
	h.look(func() { n = h.calls[op] })
	return n
}

func (h *cluster) faults(f func(op string) (before, after error)) {
	if f == nil {
		f = func(string) (error, error) { return nil, nil }
	}
	h.look(func() { h.fault = f })
}

// submit queues tasks of a kind, named as given.
func (h *cluster) submit(kind string, ids ...string) {
	h.look(func() {
		for _, id := range ids {
			h.tasks[id] = core.Task{ID: id, Generation: 1, Kind: kind}
			h.queue = append(h.queue, id)
		}
		h.ring()
	})
}

func (h *cluster) ring() {
	select {
	case h.bell <- struct{}{}:
	default:
	}
}

func (h *cluster) end(id string) (state core.TaskState, note string) {
	h.look(func() { state, note = h.ends[id], h.notes[id] })
	return state, note
}

// left says how many tasks Redis still has anywhere.
func (h *cluster) left() (n int) {
	h.look(func() { n = len(h.tasks) })
	return n
}

func (h *cluster) Register(ctx context.Context, _ core.Registration) (reg core.Registered, err error) {
	err = h.do(ctx, "register", 0, func() {
		h.epoch++
		h.fenced, h.gone, h.seq, h.last = false, false, 0, core.TaskExchanged{}
		reg.Epoch, reg.Left = h.epoch, h.held()
	})
	return reg, err
}

func (h *cluster) held() (held []core.Held) {
	for _, id := range slices.Sorted(maps.Keys(h.slots)) {
		held = append(held, core.Held{Key: core.Key(id, 1), Token: h.slots[id], Phase: "task", Attempts: h.attempts[id], Deaths: h.deaths[id]})
	}
	return held
}

func (h *cluster) Settle(ctx context.Context, _ string, epoch int64, items []core.Settlement, _ int64) (out core.Settled, err error) {
	err = h.do(ctx, "settle", epoch, func() {
		for _, it := range items {
			if h.finish(core.TaskFinish{Key: it.Key, Token: it.Token, Outcome: it.Outcome}) {
				out.Moved++
			}
		}
	})
	return out, err
}

func (h *cluster) Held(ctx context.Context, _ string, epoch int64) (held []core.Held, err error) {
	err = h.do(ctx, "held", epoch, func() { held = h.held() })
	return held, err
}

func (h *cluster) Deregister(ctx context.Context, _ string, epoch int64) error {
	conflict := false
	err := h.do(ctx, "deregister", epoch, func() {
		conflict = len(h.slots) > 0
		h.gone = !conflict
	})
	if conflict {
		return core.Errorf(core.CodeConflict, owner, "it holds something")
	}
	return err
}

func (h *cluster) Beat(ctx context.Context, _ string, epoch int64, _ time.Duration) (b core.Beat, err error) {
	err = h.do(ctx, "beat", epoch, func() {
		h.beats = append(h.beats, time.Now())
		b.Slots = len(h.slots)
	})
	return b, err
}

func (h *cluster) finish(f core.TaskFinish) bool {
	id, _, err := core.ParseKey(f.Key)
	if err != nil || h.slots[id] != f.Token {
		return false
	}
	delete(h.slots, id)
	switch f.Outcome {
	case core.OutcomeDone, core.OutcomeDead:
		delete(h.tasks, id)
		delete(h.attempts, id)
	case core.OutcomeRetry, core.OutcomeLater, core.OutcomeBroken, core.OutcomeUnclean:
		if f.Outcome == core.OutcomeRetry {
			h.attempts[id]++
		}
		h.later[id] = time.Now().Add(f.Delay)
	case core.OutcomeRelease:
		h.queue = append([]string{id}, h.queue...)
	}
	return true
}

// ExchangeTasks implements core.Tasks.
func (h *cluster) ExchangeTasks(ctx context.Context, x core.TaskExchange) (out core.TaskExchanged, err error) {
	stale := false
	err = h.do(ctx, "exchange", x.Epoch, func() {
		h.beats = append(h.beats, time.Now())
		if stale = x.Seq < h.seq; stale {
			return
		}
		if x.Seq == h.seq {
			out = h.last
			return
		}
		for _, f := range x.Finish {
			out.Finished = append(out.Finished, h.finish(f))
		}
		for id, at := range h.later {
			if !at.After(time.Now()) {
				delete(h.later, id)
				h.queue = append(h.queue, id)
			}
		}
		for i := range min(x.Want, len(h.queue)) {
			id := h.queue[0]
			h.queue = h.queue[1:]
			h.slots[id] = token(x.Epoch, x.TokenBase+int64(i))
			out.Claims = append(out.Claims, core.TaskClaim{Task: h.tasks[id], Token: h.slots[id], Attempts: h.attempts[id], Cancelled: h.marked[id]})
		}
		if len(out.Claims) == 0 {
			out.Next = h.next
		}
		h.seq, h.last = x.Seq, out
	})
	out.Cancelled = map[string]string{}
	h.look(func() {
		out.Slots = len(h.slots)
		for id := range h.slots {
			if by := h.marked[id]; by != "" {
				out.Cancelled[core.Key(id, 1)] = by
			}
		}
	})
	if stale {
		return core.TaskExchanged{}, core.Errorf(core.CodeStale, owner, "the lane is further")
	}
	if err != nil {
		return core.TaskExchanged{}, err
	}
	return out, nil
}

func token(epoch, n int64) string {
	return time.Duration(epoch).String() + "." + time.Duration(n).String()
}

// WaitTask implements core.Tasks.
func (h *cluster) WaitTask(ctx context.Context, _ string, _ bool, poll time.Duration) error {
	if err := h.do(ctx, "wait", 0, func() {}); err != nil {
		return err
	}
	select {
	case <-h.bell:
	case <-time.After(poll):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// EndTask implements school.ResultStore.
func (h *cluster) EndTask(ctx context.Context, end core.TaskEnd) (first bool, err error) {
	err = h.do(ctx, "end", 0, func() {
		if first = h.ends[end.ID] == ""; first {
			h.ends[end.ID], h.notes[end.ID], h.full[end.ID] = end.State, end.Note, end
		}
	})
	return first, err
}

// FailTask implements school.ResultStore.
func (h *cluster) FailTask(ctx context.Context, id string, f core.TaskFailure) error {
	return h.do(ctx, "fail", 0, func() { h.failures[id] = append(h.failures[id], f) })
}

// GetTask implements school.ResultStore.
func (h *cluster) GetTask(ctx context.Context, id string) (t core.Task, err error) {
	err = h.do(ctx, "get", 0, func() {
		if t = h.rows[id]; t.ID == "" {
			t = core.Task{ID: id, Generation: 1, State: cmp.Or(h.ends[id], core.TaskQueued)}
		}
	})
	return t, err
}

// WakeTask implements core.Tasks.
func (h *cluster) WakeTask(ctx context.Context, key string) error {
	return h.do(ctx, "wake", 0, func() { h.woken = append(h.woken, key) })
}

// SetTaskRates implements core.Tasks.
func (h *cluster) SetTaskRates(ctx context.Context, rates map[string]core.TaskRate) error {
	return h.do(ctx, "rates", 0, func() { h.rates = rates })
}

// ProgressTask implements core.Tasks.
func (h *cluster) ProgressTask(ctx context.Context, _ string, epoch int64, key, token string, p core.TaskProgress, limit time.Duration) error {
	stale := false
	err := h.do(ctx, "progress", epoch, func() {
		id, _, _ := core.ParseKey(key)
		if stale = h.slots[id] != token; !stale {
			h.progress[id] = append(h.progress[id], told{p, limit, time.Now()})
		}
	})
	if stale {
		return core.Errorf(core.CodeStale, key, "the slot is another's")
	}
	return err
}

// key is what Redis calls a task.
func key(id string) string { return id }
