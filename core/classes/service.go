package classes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/webhook"

	"github.com/oklog/ulid/v2"
)

//go:generate go test -run ^TestCoursesDocIsCurrent$ . -update

// Service carries out what users ask for, after checking rights. The fields are set once; all methods are safe for
// concurrent use, by several processes as well.
type Service struct {
	Store    Store
	Intake   Intake
	Blobs    core.Blobs
	Webhooks webhook.Addresses
	Quota    Quota
	Now      func() time.Time // nil: time.Now
	NewID    func() string    // nil: lower-case ULIDs
}

// Store is what a Service needs of the result store.
type Store interface {
	school.Roster
	school.Assignments
	school.Submissions
	school.Experiments
	school.Comments
	core.AuditLog
	core.Webhooks
	core.Schedules
	core.Counted

	WaysIn(ctx context.Context, users []string) ([]school.WayIn, error)
	Get(ctx context.Context, id string) (core.Row, error)
	List(ctx context.Context, f core.Filter) ([]core.Row, error)
	Attempts(ctx context.Context, id string) ([]core.Attempt, error)
	Pools(ctx context.Context) ([]core.Pool, error)
	GetImage(ctx context.Context, ref string) (core.Image, error)
	GetTask(ctx context.Context, id string) (core.Task, error)
	ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error)
	CountChildren(ctx context.Context, parent string) (core.TaskTally, error)
}

// Intake accepts requests and tasks, as core/requests/intake does.
type Intake interface {
	SubmitWith(ctx context.Context, spec core.Spec, create func(ctx context.Context, spec core.Spec) (created bool, err error)) error
	Rerun(ctx context.Context, id string) (core.Row, error)
	Cancel(ctx context.Context, id, by string) (core.RequestState, error)
	SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error)
	CancelTask(ctx context.Context, id, by string) (core.TaskState, error)
	RetryTask(ctx context.Context, id string) (core.Task, error)
	LocateTasks(ctx context.Context, keys []string) ([]core.TaskPlace, error)
}

// page is how many entries are read at a time of a list that is needed whole.
const page = 500

func (r *Service) now() time.Time {
	if r.Now != nil {
		return r.Now()
	}
	return time.Now()
}

func (r *Service) newID() string {
	if r.NewID != nil {
		return r.NewID()
	}
	return strings.ToLower(ulid.Make().String())
}

// start submits a task for the actor. If an unfinished task does the same, it is returned instead: for a file only
// the actor's own, for a deletion anybody's.
func (r *Service) start(ctx context.Context, a core.Actor, kind, about string, args any) (core.Task, error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return core.Task{}, core.Wrap(err, core.CodeInternal, about, "the arguments of task %s cannot be written", kind)
	}
	k, err := school.TaskKinds().Find(kind)
	if err != nil {
		return core.Task{}, err
	}
	if raw, err = k.Canonical(raw); err != nil {
		return core.Task{}, err
	}
	notify, err := r.notified(ctx, of(about), core.EventTaskEnded)
	if err != nil {
		return core.Task{}, err
	}
	whose := a.Handle
	if k.Shared {
		whose = ""
	}
	sum := sha256.Sum256([]byte(about + "\n" + whose + "\n" + string(raw)))
	t, created, err := r.Intake.SubmitTask(ctx, core.Task{
		ID: r.newID(), Kind: kind, Args: raw, Unique: kind + ":" + hex.EncodeToString(sum[:16]),
		Priority: core.PriorityNormal, Requester: a.Handle, About: about, Notify: notify,
	})
	if err != nil || created {
		return t, err
	}
	open, err := r.Store.ListTasks(ctx, core.TaskFilter{States: []core.TaskState{core.TaskQueued}, Kind: kind, Requester: whose, Limit: page})
	for i := range open {
		if open[i].Unique == t.Unique {
			return open[i], nil
		}
	}
	return t, cmp.Or(err, busy(about)) // it has just ended
}

func busy(about string) error {
	return core.Errorf(core.CodeConflict, about, "the same task for %s has ended just now: ask again", about)
}
