package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"drover/core"
)

// MaxAttempts is how many tries that a platform fault ended a request or task
// has, unless Options say otherwise.
const MaxAttempts = 3

// Options tune Settle and Reap. The zero value is the default.
type Options struct {
	MaxAttempts int                    // 0: the constant MaxAttempts
	Now         func() time.Time       // nil: time.Now
	Fail        func(h core.Held) bool // the work is to fail rather than run again (its host is lost and its pool says so); nil: never
}

// Report says what became of the slots.
type Report struct {
	Owners    []string          // those settled
	Items     []core.Settlement // what was asked of Redis, for the log
	Moved     int               // slots that this call emptied; others had emptied the rest
	Done      int               // had their terminal result already, or got one that is not dead
	Cancelled int               // of Done: recorded as cancelled now
	Failed    int               // of Done: recorded as failed now
	Retried   int               // queued again, one attempt used
	Dead      int               // attempts used up
	Returned  int               // VMs of a vmfactory, given to be destroyed
}

func (r *Report) add(other Report) {
	r.Owners = append(r.Owners, other.Owners...)
	r.Items = append(r.Items, other.Items...)
	r.Moved += other.Moved
	r.Done += other.Done
	r.Cancelled += other.Cancelled
	r.Failed += other.Failed
	r.Retried += other.Retried
	r.Dead += other.Dead
	r.Returned += other.Returned
}

// chunk is how many slots are settled at once.
const chunk = 256

// Settle empties the slots that an owner of a former epoch left, each by what the
// store knows. The epoch is the one that Fence or Register returned. One slot
// that fails does not hold back the others; the error tells of all that did, and
// settling again is always right. Returns FENCED if the owner has a newer epoch,
// UNAVAILABLE if the store or Redis was.
func Settle(ctx context.Context, owners core.Owners, store core.ResultStore, owner string, epoch int64, held []core.Held, opts Options) (Report, error) {
	role, host, err := core.ParseOwner(owner)
	if err != nil {
		return Report{}, err
	}
	if opts.MaxAttempts == 0 {
		opts.MaxAttempts = MaxAttempts
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	var total Report
	var troubles []error
	for len(held) > 0 {
		n := min(len(held), chunk)
		j := judge{store: store, host: host, opts: opts}
		items, err := j.items(ctx, role, held[:n])
		troubles = append(troubles, err)
		held = held[n:]
		if len(items) == 0 {
			continue
		}
		settled, err := owners.Settle(ctx, owner, epoch, items, 0)
		if core.Is(err, core.CodeFenced) {
			return total, err
		}
		troubles = append(troubles, err)
		j.report.Items, j.report.Moved = items, settled.Moved
		total.add(j.report)
	}
	total.Owners = []string{owner}
	return total, core.Wrap(errors.Join(troubles...), core.CodeUnavailable, owner, "not all slots of %s could be settled", owner)
}

// judge decides how slots end.
type judge struct {
	store  core.ResultStore
	host   string
	opts   Options
	report Report
}

func (j *judge) items(ctx context.Context, role core.Role, held []core.Held) ([]core.Settlement, error) {
	ended := map[string]core.RequestState{}
	decide := j.request
	switch role {
	case core.RoleVMFactory:
		decide = j.vm
	case core.RoleTaskrunner:
		decide = j.task
	default:
		keys := make([]string, 0, len(held))
		for _, h := range held {
			if _, _, err := core.ParseKey(h.Key); err == nil {
				keys = append(keys, h.Key)
			}
		}
		var err error
		if ended, err = j.store.Terminal(ctx, keys); err != nil {
			return nil, err
		}
	}
	items := make([]core.Settlement, 0, len(held))
	var troubles []error
	for _, h := range held {
		outcome, err := decide(ctx, h, ended[h.Key])
		if err != nil {
			troubles = append(troubles, err)
			continue
		}
		items = append(items, core.Settlement{Key: h.Key, Token: h.Token, Outcome: outcome})
	}
	return items, errors.Join(troubles...)
}

// vm returns a VM that its vmfactory was making or destroying: Redis makes it dirty.
func (j *judge) vm(context.Context, core.Held, core.RequestState) (core.Outcome, error) {
	j.report.Returned++
	return core.OutcomeRelease, nil
}

func (j *judge) task(ctx context.Context, h core.Held, _ core.RequestState) (core.Outcome, error) {
	if h.Attempts+1 < j.opts.MaxAttempts {
		j.report.Retried++
		return core.OutcomeRetry, nil
	}
	note := fmt.Sprintf("its taskrunner died; that was attempt %d of %d", h.Attempts+1, j.opts.MaxAttempts)
	first, err := j.store.EndTask(ctx, h.Key, core.TaskDead, note)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return "", err
	}
	if first {
		j.report.Dead++
		return core.OutcomeDead, nil
	}
	j.report.Done++
	return core.OutcomeDone, nil
}

func (j *judge) request(ctx context.Context, h core.Held, ended core.RequestState) (core.Outcome, error) {
	if ended != "" {
		return j.ended(ended), nil
	}
	if _, _, err := core.ParseKey(h.Key); err != nil {
		j.report.Done++
		return core.OutcomeDone, nil //nolint:nilerr // no request has this key: nobody waits for it
	}
	attempt := h.Attempts + 1
	switch {
	case h.Cancelled != "":
		reason := fmt.Sprintf("cancelled by %s", h.Cancelled)
		return j.record(ctx, h, core.RequestCancelled, core.BlameNone, reason)
	case j.opts.Fail != nil && j.opts.Fail(h):
		reason := fmt.Sprintf("host %s was lost while it ran, and pool %s does not run such work again", j.host, h.Pool)
		return j.record(ctx, h, core.RequestFailed, core.BlamePlatform, reason)
	case attempt >= j.opts.MaxAttempts:
		reason := fmt.Sprintf("given up after %d attempts that faults of the platform ended; in the last one its testrunner on %s died", attempt, j.host)
		return j.record(ctx, h, core.RequestDead, core.BlamePlatform, reason)
	}
	j.report.Retried++
	return core.OutcomeRetry, nil
}

// record makes the end durable before Redis hears of it. If another result was
// there first, the slot ends by that.
func (j *judge) record(ctx context.Context, h core.Held, state core.RequestState, blame core.Blame, reason string) (core.Outcome, error) {
	id, generation, err := core.ParseKey(h.Key)
	if err != nil {
		return "", err
	}
	// The dead owner may still record a result under the token itself.
	first, err := j.store.Record(ctx, core.Result{
		ID: id, Generation: generation, State: state, Blame: blame, Reason: reason,
		Attempt: h.Attempts + 1, Host: j.host, Pool: h.Pool, VM: h.VM, Token: h.Token + "-" + string(state),
		Times: j.times(ctx, id, h),
	})
	switch {
	case core.Is(err, core.CodeNotFound):
		j.report.Done++
		return core.OutcomeDone, nil
	case err != nil:
		return "", err
	case !first:
		was, err := j.store.Terminal(ctx, []string{h.Key})
		if err != nil {
			return "", err
		}
		return j.ended(was[h.Key]), nil
	}
	if state == core.RequestCancelled {
		j.report.Cancelled++
	}
	if state == core.RequestFailed {
		j.report.Failed++
	}
	return j.ended(state), nil
}

// times are what is known of a try whose owner is gone.
func (j *judge) times(ctx context.Context, id string, h core.Held) core.Times {
	t := core.Times{Queued: 0, Claimed: -1, Started: -1, Finished: -1}
	row, err := j.store.Get(ctx, id)
	if err != nil {
		return t // the result matters more than its times
	}
	t.Submitted = row.Spec.Submitted
	t.Claimed = max(0, h.Since-t.Submitted) // at the latest: since is when its phase began
	if h.Phase == string(core.RequestRunning) {
		t.Started = t.Claimed
	}
	t.Finished = max(t.Claimed, j.opts.Now().UnixMilli()-t.Submitted)
	return t
}

// ended is how the slot of a request with this terminal result ends.
func (j *judge) ended(state core.RequestState) core.Outcome {
	if state == core.RequestDead {
		j.report.Dead++
		return core.OutcomeDead
	}
	j.report.Done++
	return core.OutcomeDone
}
