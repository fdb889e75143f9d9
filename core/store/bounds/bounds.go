// Package bounds has what every result store needs, so that the stores agree: the names that are keys, the size of
// what is stored and of a page, and when two records are the same. The rules of a record are in its Check, in core and
// core/school, which is called where the record comes in.
package bounds

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"drover/core"
	"drover/core/school"
)

// The bounds.
const (
	MaxResultBytes = 4 << 20  // encoded result, without its output
	MaxRefused     = 16       // refused results kept of one generation; later ones are answered but not kept
	AttemptOutput  = 16 << 10 // bytes of each stream in the history; more are kept of an accepted result only
	MaxStates      = 16       // states that a filter may name
	MaxRows        = 1000     // rows of one page of List
	DefaultRows    = 50       // rows of a page without a limit
	MaxPage        = 10_000   // specs or tasks of one page
	MaxNotices     = 10_000   // that one call takes out of the outbox
)

// Spec returns the encoding of a new request. It checks only what a store relies on: core/requests/intake has checked
// the rest. Returns INVALID.
func Spec(s core.Spec) ([]byte, error) {
	if err := core.CheckName("request id", s.ID); err != nil {
		return nil, err
	}
	if s.Generation != 1 {
		return nil, core.Errorf(core.CodeInvalid, s.ID, "a new request is of generation 1, not %d", s.Generation)
	}
	doc, err := json.Marshal(s)
	return doc, core.Wrap(err, core.CodeInvalid, s.ID, "request %s cannot be written as JSON", s.ID)
}

// Begin checks the beginning of a request and returns its id and generation. Returns INVALID.
func Begin(key, by string) (id string, generation int, err error) {
	const most = 500 // an owner's name, a token
	if by == "" || len(by) > most {
		return "", 0, core.Errorf(core.CodeInvalid, key, "the claim that begins %s must be named in 1 to %d bytes", key, most)
	}
	return core.ParseKey(key)
}

// Batch returns the encodings of a new batch, without and of its specs. Returns INVALID or LIMIT.
func Batch(b core.Batch) (doc, specs []byte, err error) {
	if err := core.CheckNames("batch id", b.ID, "request id", b.Last, "submitter", b.Submitter); err != nil {
		return nil, nil, err
	}
	if len(b.Specs) == 0 || len(b.Specs) != b.Jobs {
		return nil, nil, core.Errorf(core.CodeInvalid, b.ID, "batch %s of %d jobs comes with %d requests", b.ID, b.Jobs, len(b.Specs))
	}
	if specs, err = json.Marshal(b.Specs); err == nil {
		b.State, b.By, b.Specs = "", "", nil
		doc, err = json.Marshal(b)
	}
	if err != nil {
		return nil, nil, core.Wrap(err, core.CodeInvalid, b.ID, "batch %s cannot be written as JSON", b.ID)
	}
	if size := len(doc) + len(specs); size > core.MaxBatchBytes {
		return nil, nil, core.Errorf(core.CodeLimit, b.ID, "the batch has %d bytes beside its files, at most %d are allowed: put what is long into files, or make several batches",
			size, core.MaxBatchBytes)
	}
	return doc, specs, nil
}

// BatchMove checks a move of a batch against the table of transitions. Returns CONFLICT.
func BatchMove(id string, from, to core.BatchState) error {
	if from.MayBecome(to) {
		return nil
	}
	return core.Errorf(core.CodeConflict, id, "a batch that is %s cannot become %s", from, to)
}

// Batches checks a filter and returns the number of batches that it selects. Returns INVALID.
func Batches(f core.BatchFilter) (int, error) {
	if f.Idempotency != "" && f.Submitter == "" {
		return 0, core.Errorf(core.CodeInvalid, "", "a batch is looked for by its idempotency key without its submitter: name that too")
	}
	return rows(f.Limit)
}

// Submission checks that a new submission comes with the request that grades it, if one does, and returns
// their encodings. Returns INVALID or LIMIT.
func Submission(s school.Submission, grading *core.Spec) (doc, spec []byte, err error) {
	if err := core.CheckNames("submission id", s.ID, "class", s.Class, "assignment", s.Assignment, "user", s.User); err != nil {
		return nil, nil, err
	}
	if doc, err = json.Marshal(s); err != nil {
		return nil, nil, core.Wrap(err, core.CodeInvalid, s.ID, "submission %s cannot be written as JSON", s.ID)
	}
	if len(doc) > core.MaxSpecBytes {
		return nil, nil, core.Errorf(core.CodeLimit, s.ID, "submission %s has %d bytes beside its files, at most %d are allowed: submit fewer files", s.ID, len(doc), core.MaxSpecBytes)
	}
	if grading == nil && s.Request == "" {
		return doc, nil, nil
	}
	if grading == nil || grading.ID != s.Request || grading.Submission != s.ID || grading.Idempotency != "" {
		return nil, nil, core.Errorf(core.CodeInvalid, s.ID, "submission %s is not stored with the request %q that grades it", s.ID, s.Request)
	}
	spec, err = Spec(*grading)
	return doc, spec, err
}

// SameSubmission reports whether two submissions of one id are the same one: who
// submitted what, for what. When, and what became of it, do not count.
func SameSubmission(a, b school.Submission) bool {
	return a.Class == b.Class && a.Assignment == b.Assignment && a.User == b.User && a.By == b.By && a.Kind == b.Kind && slices.Equal(a.Files, b.Files)
}

// Task returns the encoding of a new task. Returns INVALID.
func Task(t core.Task) ([]byte, error) {
	if err := core.CheckName("task id", t.ID); err != nil {
		return nil, err
	}
	if t.Generation != 1 {
		return nil, core.Errorf(core.CodeInvalid, t.ID, "a new task is of generation 1, not %d", t.Generation)
	}
	t.State = core.TaskQueued
	return EncodeTask(t)
}

// EncodeTask encodes a task.
func EncodeTask(t core.Task) ([]byte, error) {
	doc, err := json.Marshal(t)
	return doc, core.Wrap(err, core.CodeInvalid, t.ID, "task %s cannot be written as JSON", t.ID)
}

// SameTask reports whether a task is the one of its id that is there: what it is to
// do, for whom. When it was made or may begin, and what became of it, do not count.
func SameTask(there, t core.Task) bool {
	there.Generation, there.Created, there.NotBefore = t.Generation, t.Created, t.NotBefore
	there.State, there.Ended, there.Note = t.State, t.Ended, t.Note
	there.Progress, there.Failures, there.Download = t.Progress, t.Failures, t.Download
	a, err := EncodeTask(there)
	b, other := EncodeTask(t)
	return err == nil && other == nil && bytes.Equal(a, b)
}

// TaskEnd checks that a task's end is one. Returns INVALID.
func TaskEnd(e core.TaskEnd) error {
	if e.State.Terminal() {
		return nil
	}
	return core.Errorf(core.CodeInvalid, e.ID, "state %q of task %s is not an end", e.State, e.ID)
}

// Result checks a result and returns its encoding without its output, which a store keeps separately as bytes.
// Returns INVALID or LIMIT.
func Result(r core.Result) ([]byte, error) {
	if !r.State.Terminal() {
		return nil, core.Errorf(core.CodeInvalid, r.ID, "state %q of request %s is not an end", r.State, r.ID)
	}
	if most := max(len(r.Stdout), len(r.Stderr)); most > core.MaxOutputBytes {
		return nil, core.Errorf(core.CodeLimit, r.ID, "request %s has an output of %d bytes, at most %d are kept", r.ID, most, core.MaxOutputBytes)
	}
	r.Stdout, r.Stderr = "", ""
	doc, err := json.Marshal(r)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, r.ID, "the result of request %s cannot be written as JSON", r.ID)
	}
	if len(doc) > MaxResultBytes {
		return nil, core.Errorf(core.CodeLimit, r.ID, "request %s has a result of %d bytes beside its output, at most %d are kept", r.ID, len(doc), MaxResultBytes)
	}
	return doc, nil
}

// Origin names the origin of a result, so that a repeat of it is recognized. That is the claim, by token and VM: a
// token alone may occur twice, because each owner counts its own. A result without a claim (cancelled or timed out
// while it waited) is named by its state.
func Origin(r core.Result) string {
	if r.Token == "" {
		return "state " + string(r.State)
	}
	return r.Token + " " + r.VM
}

// Cut shortens the output of a result to the part that the history shows.
func Cut(r core.Result) core.Result {
	for _, stream := range []*string{&r.Stdout, &r.Stderr} {
		if len(*stream) > AttemptOutput {
			*stream, r.Truncated = (*stream)[:AttemptOutput], true
		}
	}
	return r
}

// Filter checks a filter and returns the number of rows that it selects. Returns INVALID.
func Filter(f core.Filter) (int, error) {
	if err := states(len(f.States)); err != nil {
		return 0, err
	}
	if f.Idempotency != "" && f.Submitter == "" {
		return 0, core.Errorf(core.CodeInvalid, "", "a request is looked for by its idempotency key without its submitter: name that too")
	}
	return rows(f.Limit)
}

// IdentityKey checks what an identity is found by, in which the issuer ends at the first space. Returns INVALID.
func IdentityKey(issuer, subject string) error {
	if issuer != "" && subject != "" && !strings.Contains(issuer, " ") && utf8.ValidString(issuer+subject) {
		return nil
	}
	return core.Errorf(core.CodeInvalid, "", "an identity is found by an issuer without spaces and a subject")
}

// AuditEntries checks a filter and returns the number of entries it asks for. Returns INVALID.
func AuditEntries(f core.AuditFilter) (int, error) { return rows(f.Limit) }

// Leads checks how many users are asked for at once. Returns INVALID.
func Leads(users []string) error {
	if len(users) > MaxRows {
		return core.Errorf(core.CodeInvalid, "", "the submissions of %d users are too many at once: ask for at most %d", len(users), MaxRows)
	}
	return nil
}

// Submissions checks a filter and returns the number of rows it asks for. Returns INVALID.
func Submissions(f school.SubmissionFilter) (int, error) {
	if f.Assignment != "" && f.Class == "" {
		return 0, core.Errorf(core.CodeInvalid, f.Assignment, "submissions for %s are looked for without its class: name that too", f.Assignment)
	}
	if f.Asked && f.Class == "" {
		return 0, core.Errorf(core.CodeInvalid, "", "submissions with open questions are looked for without a class: name one")
	}
	if f.Idempotency != "" && f.User == "" {
		return 0, core.Errorf(core.CodeInvalid, "", "a submission is looked for by its idempotency key without its user: name that too")
	}
	return rows(f.Limit)
}

// Comments checks a filter and returns its limit.
func Comments(f school.CommentFilter) (int, error) {
	if f.Assignment != "" && f.Class == "" {
		return 0, core.Errorf(core.CodeInvalid, f.Assignment, "assignment %.80q is of no class: name its class too", f.Assignment)
	}
	return rows(cmp.Or(f.Limit, school.MaxComments))
}

// TaskFilter checks a filter and returns the number of tasks it asks for. Returns INVALID.
func TaskFilter(f core.TaskFilter) (int, error) {
	if err := states(len(f.States)); err != nil {
		return 0, err
	}
	return rows(f.Limit)
}

// rows returns the number of rows for a limit; 0 is the default. Returns INVALID.
func rows(limit int) (int, error) {
	if limit == 0 {
		return DefaultRows, nil
	}
	return limit, within(limit, MaxRows)
}

// Rows checks the limit of a list whose rows may be large. Returns INVALID.
func Rows(limit int) error { return within(limit, MaxRows) }

// Page checks the limit of a list. Returns INVALID.
func Page(limit int) error { return within(limit, MaxPage) }

func within(limit, most int) error {
	if limit < 1 || limit > most {
		return core.Errorf(core.CodeInvalid, "", "limit %d must be between 1 and %d", limit, most)
	}
	return nil
}

// Notices checks what is to be taken out of the outbox and splits the keys. Returns INVALID.
func Notices(notices []core.Notice) ([]Ended, error) {
	if len(notices) > MaxNotices {
		return nil, core.Errorf(core.CodeInvalid, "", "%d notices are more than one call takes, which is %d", len(notices), MaxNotices)
	}
	all, ended := core.WebhookEvents(), make([]Ended, len(notices))
	for i, n := range notices {
		if !slices.Contains(all, n.Event) {
			return nil, core.Errorf(core.CodeInvalid, n.Key, "the outbox holds no %.40q: use %s", n.Event, strings.Join(all, ", "))
		}
		id, generation, err := core.ParseKey(n.Key)
		if err != nil {
			return nil, err
		}
		ended[i] = Ended{n.Event, id, generation}
	}
	return ended, nil
}

// Ended is a notice with its key in two parts.
type Ended struct {
	Event      string
	ID         string
	Generation int // or the number of a lease's note
}
