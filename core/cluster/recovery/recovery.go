package recovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// MaxAttempts is how many VMs may die under a request before it counts as their cause, unless Options say otherwise.
const MaxAttempts = 3

// MaxDeaths is how many deaths of owners may count against a request or task before it counts as their cause, unless
// Options say otherwise.
const MaxDeaths = 2

// Cause is why slots are settled that their owner did not finish.
type Cause int

// The causes.
const (
	Lost    Cause = iota // the owner's epoch is over, because it died or was late; one attempt used
	Hung                 // the owner lives, the slot made no progress; one attempt used
	Drained              // the owner lives, its host is drained; no attempt used
)

// Options tune Decide, Settle and Reap. The zero value is the default.
type Options struct {
	Cause       Cause
	MaxAttempts int              // 0: the constant MaxAttempts; below 0: no number of VMs' deaths
	MaxDeaths   int              // 0: the constant MaxDeaths; below 0: no number of owners' deaths
	Now         func() time.Time // nil: time.Now
}

// filled returns the options with defaults for zero fields.
func (o Options) filled() Options {
	o.MaxAttempts = cmp.Or(o.MaxAttempts, MaxAttempts)
	o.MaxDeaths = cmp.Or(o.MaxDeaths, MaxDeaths)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Report counts what became of the slots.
type Report struct {
	Owners    []string          // owners whose slots were settled
	Items     []core.Settlement // what was sent to Redis, for the log
	Moved     int               // slots that this call emptied; other calls emptied the rest
	Done      int               // had their terminal result already, or got one that is not dead
	Cancelled int               // of Done: recorded as cancelled now
	Failed    int               // of Done: recorded as failed now
	Retried   int               // queued again, one attempt used
	Released  int               // queued again, no attempt used
	Dead      int               // too many deaths count against them
	Returned  int               // VMs of a vmfactory, made dirty
}

// Add adds another report's counts.
func (r *Report) Add(other Report) {
	r.Owners = append(r.Owners, other.Owners...)
	r.Items = append(r.Items, other.Items...)
	r.Moved += other.Moved
	r.Done += other.Done
	r.Cancelled += other.Cancelled
	r.Failed += other.Failed
	r.Retried += other.Retried
	r.Released += other.Released
	r.Dead += other.Dead
	r.Returned += other.Returned
}

// chunk is how many slots are settled at once.
const chunk = 256

// Store is the part of the result store that recovery reads and writes.
type Store interface {
	core.Ledger
	GetTask(ctx context.Context, id string) (core.Task, error)
	EndTask(ctx context.Context, e core.TaskEnd) (bool, error)
	FailTask(ctx context.Context, id string, f core.TaskFailure) error
}

// Settle empties the slots that an owner of a former epoch left, each by its state in the store. The epoch is the one
// that Fence or Register returned. One failure does not hold back the others; the error lists all of them, and
// settling again is always safe. Returns FENCED if the owner has a newer epoch, UNAVAILABLE if the store or Redis
// was.
func Settle(ctx context.Context, owners core.Owners, store Store, owner string, epoch int64, held []core.Held, opts Options) (Report, error) {
	if _, _, err := core.ParseOwner(owner); err != nil {
		return Report{}, err
	}
	var total Report
	var troubles []error
	for some := range slices.Chunk(held, chunk) {
		items, report, err := Decide(ctx, store, owner, some, opts)
		troubles = append(troubles, err)
		if len(items) == 0 {
			continue
		}
		settled, err := owners.Settle(ctx, owner, epoch, items, 0)
		if core.Is(err, core.CodeFenced) {
			return total, err
		}
		troubles = append(troubles, err)
		report.Moved = settled.Moved
		total.Add(report)
	}
	total.Owners = []string{owner}
	return total, core.Wrap(errors.Join(troubles...), core.CodeUnavailable, owner, "not all slots of %s could be settled", owner)
}

// Decide returns how slots of an owner are to end, each by its state in the store, and records terminal ends there.
// It does not use Redis; deciding again is always safe. The error lists all slots that could not be decided.
func Decide(ctx context.Context, store Store, owner string, held []core.Held, opts Options) ([]core.Settlement, Report, error) {
	role, host, err := core.ParseOwner(owner)
	if err != nil {
		return nil, Report{}, err
	}
	j := judge{store: store, owner: owner, host: host, opts: opts.filled()}
	items, err := j.items(ctx, role, held)
	j.report.Items = items
	return items, j.report, err
}

// judge decides how slots end.
type judge struct {
	store  Store
	owner  string
	host   string
	opts   Options
	report Report
	begun  map[string]string // requests that must not run again
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
		if j.begun, err = j.store.BegunRequests(ctx, keys); err != nil {
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

// End is how a request or task ends instead of being run again. The zero End means that it runs again.
type End struct {
	State  core.RequestState
	Blame  core.Blame
	Reason string
}

// Verdict returns how a request or task ends that met these deaths; the zero End if it is to run. The verdict depends
// on nothing else, so it is the same for every owner.
func Verdict(deaths []core.Death, opts Options) End {
	opts = opts.filled()
	var owners, vms []string
	unclean := 0
	for _, d := range deaths {
		switch {
		case !d.Counts:
		case d.VM():
			vms = append(vms, d.Of)
			if d.Unclean {
				unclean++
			}
		default:
			owners = append(owners, d.Of)
		}
	}
	switch {
	case opts.MaxDeaths > 0 && len(owners) >= opts.MaxDeaths:
		return quarantine("it was alone in hand, or apart from the others, when %d runners died (%s), so it may be what kills them",
			len(owners), strings.Join(owners, ", "))
	case opts.MaxAttempts <= 0 || len(vms) < opts.MaxAttempts:
		return End{}
	case unclean == len(vms):
		reason := "The program left something behind that could not be removed after it, in each of the %d new VMs that it ran in."
		return End{core.RequestFailed, core.BlameSubmission, fmt.Sprintf(reason, len(vms))}
	}
	return quarantine("%d VMs died while it ran in them (%s), so it may be what kills them", len(vms), strings.Join(vms, ", "))
}

func quarantine(format string, args ...any) End {
	return End{core.RequestDead, core.BlamePlatform, fmt.Sprintf("in quarantine: "+format, args...)}
}

// String returns the cause as a part of a sentence about the owner.
func (c Cause) String() string {
	return [...]string{Lost: "died or was not heard of", Hung: "made no progress with it", Drained: "gave it back"}[c]
}

// again returns the outcome of a slot whose work is to run again.
func (j *judge) again() core.Outcome {
	if j.opts.Cause == Drained {
		j.report.Released++
		return core.OutcomeRelease
	}
	j.report.Retried++
	return core.OutcomeRetry
}

func (j *judge) request(ctx context.Context, h core.Held, ended core.RequestState) (core.Outcome, error) {
	if ended != "" {
		return j.ended(ended), nil
	}
	if _, _, err := core.ParseKey(h.Key); err != nil {
		j.report.Done++
		return core.OutcomeDone, nil //nolint:nilerr // no request has this key: nobody waits for it
	}
	end := Verdict(h.Deaths, j.opts)
	switch {
	case j.opts.Cause != Lost: // its owner may go on with it until the slot is empty
	case h.Cancelled != "":
		reason := fmt.Sprintf("cancelled by %s", h.Cancelled)
		return j.record(ctx, h, core.RequestCancelled, core.BlameNone, reason)
	case j.begun[h.Key] != "":
		return j.record(ctx, h, core.RequestFailed, core.BlamePlatform, core.BegunReason(j.owner+" "+j.opts.Cause.String()))
	case end.State != "":
		return j.record(ctx, h, end.State, end.Blame, end.Reason)
	}
	return j.again(), nil
}

// record makes the end durable before the slot is settled. If the store already has another result, the slot ends by
// that.
func (j *judge) record(ctx context.Context, h core.Held, state core.RequestState, blame core.Blame, reason string) (core.Outcome, error) {
	id, generation, err := core.ParseKey(h.Key)
	if err != nil {
		return "", err
	}
	// The dead owner may still record a result under its own token.
	first, err := j.store.Record(ctx, core.Result{
		ID: id, Generation: generation, State: state, Blame: blame, Reason: reason,
		Attempt: h.Attempts + 1, Change: h.Change, Host: j.host, Pool: h.Pool, VM: h.VM, Token: h.Token + "-" + string(state),
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

// times returns the known times of a try whose owner is gone.
func (j *judge) times(ctx context.Context, id string, h core.Held) core.Times {
	t := core.Times{Queued: 0, Claimed: -1, Started: -1, Finished: -1}
	row, err := j.store.Get(ctx, id)
	if err != nil {
		return t // the result matters more than its times
	}
	t.Submitted = row.Spec.Submitted
	t.Claimed = max(0, h.Since-t.Submitted) // at the latest: Since is when its last phase began
	if h.Phase == string(core.RequestRunning) {
		t.Started = t.Claimed
	}
	t.Finished = max(t.Claimed, j.opts.Now().UnixMilli()-t.Submitted)
	return t
}

// ended returns the outcome of a slot whose request has this terminal result.
func (j *judge) ended(state core.RequestState) core.Outcome {
	if state == core.RequestDead {
		j.report.Dead++
		return core.OutcomeDead
	}
	j.report.Done++
	return core.OutcomeDone
}
