package drill

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"drover/core"
	"drover/core/service/pattern"
)

// count compares what was accepted with what ended.
func (r *Report) count(ctx context.Context, h *cluster, l *load, seen *evidence) error {
	h.refusals.read(ctx, h.client)
	r.Jobs, r.Tasks, r.Refused, r.Zombies = len(l.ids), len(l.tasks), l.refused, h.refusals.sum()
	left, err := h.client.Store.Unfinished(ctx, "", page)
	if err != nil {
		return err
	}
	for _, spec := range left {
		r.lost(ctx, h, spec.ID, spec.Key())
	}
	tasks, err := h.client.Store.UnfinishedTasks(ctx, "", page)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		r.Lost++
		r.detail("lost: task %s", t.ID)
	}
	vms := map[string]string{} // VM → the request that it served
	for _, id := range l.ids {
		if err := r.countOne(ctx, h, id, vms); err != nil {
			return err
		}
	}
	if err := r.countBatches(ctx, h, l, vms); err != nil {
		return err
	}
	h.rooms.report(r)
	if err := h.leases.report(ctx, r); err != nil {
		return err
	}
	r.Rounds, r.Overtaken = int(h.rounds.cut.Load()), int(h.rounds.overtaken.Load())
	for _, key := range r.given {
		if why := seen.innocent(key); why != "" {
			r.Innocent++
			r.detail("dead without its own fault: %s: %s", key, why)
		}
	}
	broken, err := l.promises(ctx)
	for _, what := range slices.Concat(broken, seen.promises()) {
		r.Broken++
		r.detail("broken promise: %s", what)
	}
	return err
}

func (r *Report) lost(ctx context.Context, h *cluster, id, key string) {
	r.Lost++
	place, err := h.client.Redis.Locate(ctx, key)
	if err != nil {
		r.detail("lost: request %s, and Redis does not say where it is: %v", id, err)
		return
	}
	r.detail("lost: request %s; in Redis it is %q %s %s", id, place.State, place.Owner, place.Pool)
}

// countOne looks at one request that was accepted.
func (r *Report) countOne(ctx context.Context, h *cluster, id string, vms map[string]string) error {
	row, err := h.client.Store.Get(ctx, id)
	if core.Is(err, core.CodeNotFound) {
		r.Lost++
		r.detail("lost: request %s, also by the result store", id)
		return nil
	}
	if err != nil {
		return err
	}
	if !row.State.Terminal() || row.Result == nil {
		return nil // counted among the unfinished
	}
	tries, err := h.client.Store.Attempts(ctx, id)
	if err != nil {
		return err
	}
	accepted, ran := 0, 0
	for _, t := range tries {
		r.Attempts++
		if t.Result.State == core.RequestCompleted {
			ran++
		}
		if t.Accepted {
			accepted++
		} else {
			r.Zombies++
		}
		if vm := t.Result.VM; vm != "" {
			if other, served := vms[vm]; served && other != id {
				r.double("VM %s served %s and %s", vm, other, id)
			}
			vms[vm] = id
			if of := h.rooms.leaseOf(vm); of != "" {
				h.leases.ran(r, of, row.Spec)
			}
		}
	}
	if accepted != 1 {
		r.double("request %s has %d ends", id, accepted)
	}
	if ran > 1 && row.Spec.OnHostLoss == core.OnHostLossFail {
		r.double("request %s must not run twice, and ran %d times", id, ran)
	}
	r.judge(id, row)
	return nil
}

// judge looks at how a request ended: every job completes unless the platform gave it up.
func (r *Report) judge(id string, row core.Row) {
	switch {
	case row.State == core.RequestDead:
		r.Dead++
		r.given = append(r.given, row.Spec.Key())
	case row.State == core.RequestFailed && row.Spec.OnHostLoss == core.OnHostLossFail:
		r.RunLost++
	case row.State == core.RequestCancelled && row.Spec.Batch != "":
		// countBatch knows whether it was to be
	case row.State != core.RequestCompleted:
		r.double("request %s ended %s (%s): %s", id, row.State, row.Result.Blame, row.Result.Reason)
	case row.Result.Stdout != tagOf(row.Spec)+"\n"+tagOf(row.Spec)+"\n":
		r.double("request %s printed %q", id, row.Result.Stdout)
	}
}

// tagOf is what a job is to print: only it knows that, and reruns of it. A test of the ledger has no command.
func tagOf(spec core.Spec) string {
	if len(spec.Command) > tagAt {
		return spec.Command[tagAt]
	}
	return spec.ID
}

func (r *Report) double(format string, args ...any) {
	r.Doubled++
	r.detail("doubled: "+format, args...)
}

// refusals counts the writes of zombies that Redis refused, through all its lives.
type refusals struct {
	mu   sync.Mutex
	seen map[string]map[string]int // life → word → count
}

var refusalField = pattern.New(`errorstat_(FENCED|STALE):count=(\d+)`)

// read asks the server what it has refused in this life.
func (r *refusals) read(ctx context.Context, c *Client) {
	text, err := c.Redis.Client().Info(ctx, "errorstats").Result()
	facts, unknown := c.Redis.Server(ctx)
	if err != nil || unknown != nil {
		return // it is down: what it said last counts
	}
	words := map[string]int{}
	for _, f := range refusalField().FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(f[2]); err == nil {
			words[f[1]] = n
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		r.seen = map[string]map[string]int{}
	}
	r.seen[facts["run_id"]] = words
}

func (r *refusals) sum() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, words := range r.seen {
		for _, count := range words {
			n += count
		}
	}
	return n
}
