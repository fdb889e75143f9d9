package requests

import (
	"context"
	"strings"
	"time"

	"drover/core"
	"drover/core/account/auditlog"

	"github.com/oklog/ulid/v2"
)

// Service carries out the operations of users on requests, after checking rights. The fields are set once; all
// methods are safe for concurrent use.
type Service struct {
	Store   Store
	Intake  Intake
	Queue   Queue
	Cluster Cluster
	Output  core.Output
	Blobs   core.Blobs

	Submissions Submissions
	Watch       *Watch // of Follow; its Run must be running

	Now   func() time.Time // nil: time.Now
	NewID func() string    // nil: lower-case ULIDs

	// Keep is how long the state of a pool, such as its pace, is cached for those who wait for it; 0: not at all.
	Keep time.Duration

	pools known // of Waiting
}

// Store is what a Service needs of the result store.
type Store interface {
	Get(ctx context.Context, id string) (core.Row, error)
	List(ctx context.Context, f core.Filter) ([]core.Row, error)
	Attempts(ctx context.Context, id string) ([]core.Attempt, error)
	AddAuditEntry(ctx context.Context, d core.AuditEntry) error
	StateChanges(ctx context.Context, f core.StateChangeFilter) ([]core.StateChange, error)
	GetBatch(ctx context.Context, id string) (core.Batch, error)
	ListBatches(ctx context.Context, f core.BatchFilter) ([]core.Batch, error)
	core.JobTypes
	GetImage(ctx context.Context, ref string) (core.Image, error)
	ListImages(ctx context.Context) ([]core.Image, error)
}

// Intake accepts requests, as core/requests/intake does.
type Intake interface {
	Accepted(ctx context.Context, submitter, key string) (core.Row, bool, error)
	Check(ctx context.Context, spec core.Spec) (core.Spec, error)
	Submit(ctx context.Context, spec core.Spec) (core.Row, bool, error)
	Rerun(ctx context.Context, id string) (core.Row, error)
	Cancel(ctx context.Context, id, by string) (core.RequestState, error)
	Change(ctx context.Context, id string, c core.Change) (core.Row, error)
	Remove(ctx context.Context, id, by string) (bool, error)
	CheckType(ctx context.Context, t core.JobType) error
	CheckBatch(ctx context.Context, specs []core.Spec) ([]core.Spec, []core.Faults, error)
	BatchAccepted(ctx context.Context, submitter, key, digest string) (core.Batch, bool, error)
	SubmitBatch(ctx context.Context, b core.Batch) (core.Batch, bool, error)
	CancelBatch(ctx context.Context, id, by string) (core.Batch, error)
}

// Queue says where in Redis requests are.
type Queue interface {
	Locate(ctx context.Context, key string) (core.Place, error)
	Preceding(ctx context.Context, key string) (core.Preceding, bool, error)
}

// Submissions decides who may see the tests of a submission, as a classes.Service does.
type Submissions interface {
	WatchSubmission(ctx context.Context, a core.Actor, id string) (request string, output bool, err error)
}

// Cluster describes what there is to run requests.
type Cluster interface {
	GetPool(ctx context.Context, name string) (core.Pool, error)
	Outages(ctx context.Context) (map[string]core.Outage, error)
	ListPools(ctx context.Context) ([]core.Pool, error)
	ListOwners(ctx context.Context) ([]core.OwnerInfo, error)
	ListHosts(ctx context.Context) ([]core.HostInfo, error)
	ListVMs(ctx context.Context, host string) ([]core.VMInfo, error)
	Rooms(ctx context.Context) ([]core.Room, int64, error)
	Waiting(ctx context.Context) ([]core.QueueInfo, error)
	Room(ctx context.Context, specs ...core.Spec) error
}

func (d *Service) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

func (d *Service) newID() string {
	if d.NewID != nil {
		return d.NewID()
	}
	return strings.ToLower(ulid.Make().String())
}

// change writes an entry to the audit log and then does what it says.
func (d *Service) change(ctx context.Context, a core.Actor, act core.Action, subject, text string, do func() error) error {
	return d.entry(ctx, a, core.AuditEntry{Action: act, Subject: subject, Text: text}, do)
}

// entry is change for any entry.
func (d *Service) entry(ctx context.Context, a core.Actor, e core.AuditEntry, do func() error) error {
	book := auditlog.Log{Store: d.Store, Now: d.now, NewID: d.newID}
	return book.Do(ctx, a, e, do)
}

func noRequest(id string) error {
	return core.Errorf(core.CodeNotFound, id, "there is no request %.80q", id)
}

// objectOf returns the object of rights to a request. One that grades belongs to the class, not to its submitter; a
// replay is also that of the member of the class who requested it.
func objectOf(s *core.Spec) core.Object {
	switch {
	case !s.Grades():
		return core.Object{Owner: s.Submitter}
	case s.Replays != nil:
		return core.Object{Class: s.ClassOf(), Owner: s.Submitter}
	}
	return core.Object{}
}

// sees reports whether the actor may view a request.
func sees(a core.Actor, s *core.Spec) bool {
	return core.Allow(a, core.ActRequestView, objectOf(s)) == nil || s.Grades() && teaches(a, s)
}

// teaches reports whether the actor may see the findings of a submission's tests.
func teaches(a core.Actor, s *core.Spec) bool {
	return core.Allow(a, core.ActGradeView, core.Object{Class: s.ClassOf()}) == nil
}

// watches reports whether the actor may see hosts, VMs and owners.
func watches(a core.Actor) bool { return core.Allow(a, core.ActClusterView, core.Object{}) == nil }

// row returns a request to which the actor may apply the action.
func (d *Service) row(ctx context.Context, a core.Actor, id string, act core.Action) (core.Row, error) {
	if !core.ValidName(id) {
		return core.Row{}, noRequest(id)
	}
	row, err := d.Store.Get(ctx, id)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return core.Row{}, err
	}
	if err != nil || !sees(a, &row.Spec) {
		return core.Row{}, noRequest(id)
	}
	if act == core.ActRequestView {
		return row, nil
	}
	return row, core.Allow(a, act, objectOf(&row.Spec))
}

// watched returns a request that the actor may follow, itself or through the submission that it grades, and whether
// the actor may see its output.
func (d *Service) watched(ctx context.Context, a core.Actor, id string) (row core.Row, output bool, err error) {
	row, err = d.row(ctx, a, id, core.ActRequestView)
	if err == nil {
		return row, !row.Spec.Grades() || teaches(a, &row.Spec), nil
	}
	if !core.Is(err, core.CodeNotFound) || !core.ValidName(id) {
		return row, false, err
	}
	if row, err = d.Store.Get(ctx, id); err != nil && !core.Is(err, core.CodeNotFound) {
		return row, false, err
	}
	if err != nil || row.Spec.Submission == "" {
		return row, false, noRequest(id)
	}
	request, output, err := d.Submissions.WatchSubmission(ctx, a, row.Spec.Submission)
	if core.Is(err, core.CodeNotFound) || err == nil && request != id { // an experiment's requests are visible only to staff of the class
		err = noRequest(id)
	}
	return row, output, err
}
