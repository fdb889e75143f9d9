package drill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/service/clock"
)

// submitters are those who submit work at the same time.
const submitters = 12

// page is how many unfinished requests are counted at most.
const page = 1000

// load keeps the cluster busy: many submitters, three pools, three priorities, mostly short jobs and some longer ones.
type load struct {
	cfg     Config
	cluster *cluster
	client  *Client

	mu      sync.Mutex
	ids     []string // accepted requests
	tasks   []string // accepted tasks
	refused int      // submits that failed
	waiting int      // unfinished requests, as last counted, without those apart
	apart   int      // of them: those that wait for elastic hosts
	full    []string // requests that were refused as FULL: they must not be run
	broken  []string // broken guarantees
}

func newLoad(cfg Config, h *cluster) *load { return &load{cfg: cfg, cluster: h, client: h.client} }

// warm waits until the cluster has ended one request on each host, or says what holds it up.
func (l *load) warm(ctx context.Context) error {
	dice := l.dice(submitters)
	for range l.cfg.Hosts * l.cfg.Slots {
		if err := l.submit(ctx, dice, 0); err != nil {
			return err
		}
	}
	if !l.cluster.await(ctx, consistencyTimeout, func(ctx context.Context) bool {
		n, err := l.unfinished(ctx)
		return err == nil && n == 0
	}) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return core.Errorf(core.CodeUnavailable, "", "the cluster did not end its first %d requests within %s; see what the components say with --logs DIR",
			l.cfg.Hosts*l.cfg.Slots, consistencyTimeout)
	}
	return nil
}

// run submits until ctx ends.
func (l *load) run(ctx context.Context) {
	var all sync.WaitGroup
	for n := range submitters {
		all.Go(func() { l.hand(ctx, n) })
	}
	all.Go(func() { l.watch(ctx) })
	all.Go(func() { l.batches(ctx) })
	all.Go(func() { l.bursts(ctx) })
	all.Go(func() { l.cluster.leases.run(ctx, l.dice(submitters+3)) })
	all.Wait()
}

// watch counts what is unfinished, and submits a task now and then.
func (l *load) watch(ctx context.Context) {
	const often, taskEvery = 100 * time.Millisecond, 20
	for n := 0; clock.Sleep(ctx, clock.Real{}, often) == nil; n++ {
		if waiting, err := l.unfinished(ctx); err == nil {
			l.mu.Lock()
			l.waiting = waiting - l.apart
			l.mu.Unlock()
		}
		if n%taskEvery == 0 {
			l.task(ctx)
		}
	}
}

// task submits a purge of nothing.
func (l *load) task(ctx context.Context) {
	args := []byte(`{"keep_ns":` + strconv.FormatInt(int64(24*time.Hour), 10) + `}`)
	task, _, err := l.client.Intake.SubmitTask(ctx, core.Task{Kind: core.KindPurge, Args: args})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.refused++
		return
	}
	l.tasks = append(l.tasks, task.ID)
}

func (l *load) dice(n int) *rand.Rand {
	return rand.New(rand.NewPCG(l.cfg.Seed, uint64(n))) //nolint:gosec // the load is to be repeated, not to be unknown
}

// hand is one submitter: it submits work as long as the cluster has less than it should.
func (l *load) hand(ctx context.Context, n int) {
	dice := l.dice(n)
	const pause = 50 * time.Millisecond
	for ctx.Err() == nil {
		l.mu.Lock()
		room := l.waiting < l.cfg.Load
		if room {
			l.waiting++ // until it is counted again
		}
		l.mu.Unlock()
		if room && l.submit(ctx, dice, n) != nil {
			l.mu.Lock()
			l.refused++
			l.mu.Unlock()
		}
		if clock.Sleep(ctx, clock.Real{}, pause) != nil {
			return
		}
	}
}

// script of every job: in a VM that served another job the folder exists already, and output that was mixed with
// another job's is not two equal lines.
const script = `mkdir used && echo "$1" && sleep "$2" && echo "$1"`

// tagAt is the place of $1 in the command.
const tagAt = 4

// submit submits one job, and now and then the same one again, like a client that did not get the answer: an accepted
// job must not be refused.
func (l *load) submit(ctx context.Context, dice *rand.Rand, n int) error {
	const longOnes, repeats, once = 6, 6, 6 // one of so many is long, or comes again, or must not run twice
	seconds := 0.05 + 0.4*dice.Float64()
	if dice.IntN(longOnes) == 0 {
		seconds = 2 + 3*dice.Float64()
	}
	id, priorities := newID(), core.Priorities()
	spec := core.Spec{
		ID: id, Pool: poolNames[dice.IntN(len(poolNames))], Priority: priorities[dice.IntN(len(priorities))], Submitter: fmt.Sprintf("s%d", n), Idempotency: id,
		Command: []string{"sh", "-c", script, "job", id, strconv.FormatFloat(seconds, 'f', 2, 64)},
	}
	if dice.IntN(once) == 0 {
		spec.OnHostLoss = core.OnHostLossFail
	}
	again := dice.IntN(repeats) == 0
	if err := l.accept(ctx, spec); err != nil {
		return err
	}
	l.mu.Lock()
	l.ids = append(l.ids, id)
	l.mu.Unlock()
	if again {
		l.repeat(ctx, spec)
	}
	return nil
}

func newID() string { return strings.ToLower(ulid.Make().String()) }

// accept submits a request, and compares the answer with what Redis can take.
func (l *load) accept(ctx context.Context, spec core.Spec) error {
	before := l.cluster.full.Load()
	_, _, err := l.client.Intake.Submit(ctx, spec)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case core.Is(err, core.CodeFull):
		l.full = append(l.full, spec.ID)
	case err == nil && before != 0 && l.cluster.full.Load() == before:
		l.broken = append(l.broken, "request "+spec.ID+" was accepted though Redis was full all the time")
	}
	return err
}

// repeat submits a request again that was accepted.
func (l *load) repeat(ctx context.Context, spec core.Spec) {
	_, created, err := l.client.Intake.Submit(ctx, spec)
	l.mu.Lock()
	defer l.mu.Unlock()
	if created || err != nil && !core.Is(err, core.CodeUnavailable) && ctx.Err() == nil {
		l.broken = append(l.broken, fmt.Sprintf("request %s was accepted, and submitted again it is: new %t, %v", spec.ID, created, err))
	}
}

// promises lists broken guarantees: a refused request must not run, an accepted one must not be refused, and a full
// Redis must accept nothing.
func (l *load) promises(ctx context.Context) ([]string, error) {
	all := slices.Clone(l.broken)
	for _, id := range l.full {
		row, err := l.client.Store.Get(ctx, id)
		if core.Is(err, core.CodeNotFound) {
			continue
		}
		if err != nil {
			return all, err
		}
		if row.State != core.RequestCancelled {
			all = append(all, fmt.Sprintf("request %s was refused as FULL, and is %s", id, row.State))
		}
	}
	return all, nil
}

// unfinished counts accepted requests, tasks and batches without an end.
func (l *load) unfinished(ctx context.Context) (int, error) {
	left, err := l.client.Store.Unfinished(ctx, "", page)
	if err != nil {
		return 0, err
	}
	tasks, err := l.client.Store.UnfinishedTasks(ctx, "", page)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	l.apart = 0
	for i := range left {
		if left[i].Pool == groupName {
			l.apart++
		}
	}
	l.mu.Unlock()
	open, err := l.client.Store.OpenBatches(ctx, "", page)
	return len(left) + len(tasks) + len(open), err
}
