package school

import (
	"cmp"
	"context"
	"encoding/json"
	"math"

	"drover/core"
)

// Harness is the grading program of an assignment.
type Harness struct {
	File   core.File       `json:"file"`             // a tar of its folder
	Config json.RawMessage `json:"config,omitempty"` // its harness.json
	Stock  bool            `json:"stock,omitempty"`  // drover grades by the folder's cases.yaml
	Finals bool            `json:"finals,omitempty"` // its cases.yaml has tests for final submissions only
	// Handout are the files that students may see. The first one is what pages show, by core/harness/handout.
	Handout []core.File `json:"handout,omitempty"`

	Problem *Origin `json:"problem,omitempty"` // the problem package that it was made of; nil for others
}

// Assignment is something that students submit. Its name is Class/Handle.
type Assignment struct {
	Class  string `json:"class"`
	Handle string `json:"handle"` // its permanent name within the class, such as hw1
	Title  string `json:"title"`
	Text   string `json:"text,omitempty"` // Markdown

	Due       int64 `json:"due_ms,omitempty"`        // ms since 1970; 0 is never
	Cutoff    int64 `json:"cutoff_ms,omitempty"`     // not before Due; later submissions are refused; 0 is never
	HideUntil int64 `json:"hide_until_ms,omitempty"` // students do not see it before, ms since 1970

	Harness    *Harness      `json:"harness,omitempty"` // nil: submissions are kept but not graded
	AllowFinal bool          `json:"allow_final,omitempty"`
	Pool       string        `json:"pool"`     // in which its submissions are graded
	Priority   core.Priority `json:"priority"` // of their requests
	Limits     core.Limits   `json:"limits"`   // of their requests

	Rules // which submission counts, and what lateness costs

	ShowOutput bool `json:"show_output,omitempty"` // students see what the harness prints, while it runs and afterwards

	MaxFiles int   `json:"max_files,omitempty"` // of a submission; 0 is MaxFiles
	MaxBytes int64 `json:"max_bytes,omitempty"` // of a submission; 0: as much as the pool's disk limit

	Created  int64 `json:"created_ms"`
	Deleting bool  `json:"deleting,omitempty"` // a task deletes it and all its contents
	Revision int64 `json:"revision"`
}

// Finals reports whether it makes a difference if a submission is final: by which one counts, or by its tests. A program
// that grades by itself may tell them apart.
func (a *Assignment) Finals() bool {
	return a.AllowFinal && (a.Policy() == CountsFinal || a.Harness != nil && (!a.Harness.Stock || a.Harness.Finals))
}

// Name returns class/handle, the assignment's name everywhere.
func (a *Assignment) Name() string { return a.Class + "/" + a.Handle }

// Deadline is a user's personal deadline, which replaces the assignment's.
type Deadline struct {
	Class      string `json:"class"`
	Assignment string `json:"assignment"` // its handle
	User       string `json:"user"`
	Due        int64  `json:"due_ms,omitempty"`    // 0 is the assignment's
	Cutoff     int64  `json:"cutoff_ms,omitempty"` // 0 is the assignment's
	By         string `json:"by"`                  // who granted it
	Reason     string `json:"reason,omitempty"`
	Since      int64  `json:"since_ms"`
}

// For returns the assignment with a user's personal deadline applied.
func (a Assignment) For(d *Deadline) Assignment {
	if d == nil {
		return a
	}
	if d.Due != 0 {
		a.Due = d.Due
	}
	if d.Cutoff != 0 {
		a.Cutoff = d.Cutoff
	}
	if a.Cutoff != 0 && a.Cutoff < a.Due {
		a.Cutoff = a.Due // a later due date also extends the cutoff
	}
	return a
}

// Submission is what a user submitted at one time.
type Submission struct {
	ID          string      `json:"id"` // a lower-case ULID; also that of its first request
	Class       string      `json:"class"`
	Assignment  string      `json:"assignment"` // its handle
	User        string      `json:"user"`
	By          string      `json:"by,omitempty"` // who submitted it for the user; "" if the user did
	Kind        string      `json:"kind"`         // public or final
	Files       []core.File `json:"files"`
	Source      *Source     `json:"source,omitempty"` // where the files were fetched from; nil if they were sent
	At          int64       `json:"at_ms"`
	Late        bool        `json:"late,omitempty"`    // after the due date at that time
	Request     string      `json:"request,omitempty"` // id of the request whose result counts; "" if it is not graded
	Idempotency string      `json:"-"`                 // chosen by the user: the same key again is the same submission
	Grade       *Grade      `json:"grade,omitempty"`   // given by a person; it takes precedence over the result's score
}

// Source is the commit of a public Git repository from which a submission's files were fetched.
type Source struct {
	Address string `json:"address"`
	Ref     string `json:"ref,omitempty"` // the branch, tag or commit that was asked for; "" is the default branch
	Commit  string `json:"commit"`
}

// Grade is a score given by a person.
type Grade struct {
	Score    float64  `json:"score"`
	MaxScore *float64 `json:"max_score,omitempty"` // nil: the result's maximum score
	By       string   `json:"by"`
	Reason   string   `json:"reason"`
	At       int64    `json:"at_ms"`
}

// Standing is a submission with its state and score.
type Standing struct {
	Submission Submission         `json:"submission"`
	State      core.RequestState  `json:"state,omitempty"` // "" if it is not graded, or its request is gone
	Blame      core.Blame         `json:"blame,omitempty"`
	Score      *float64           `json:"score"` // the grade's score, else the result's; no penalty is taken off
	MaxScore   *float64           `json:"max_score"`
	Outcome    core.ResultOutcome `json:"outcome"` // by the grade, else by the result
}

// Standing returns the submission with its state, outcome and score, from the state and result of its request. A
// person's grade takes precedence. Of is the outcome that was recorded with the result, "" if none was.
func (s Submission) Standing(state core.RequestState, blame core.Blame, of core.ResultOutcome, score, maxScore *float64) Standing {
	if s.Grade != nil {
		score = &s.Grade.Score
		if s.Grade.MaxScore != nil {
			maxScore = s.Grade.MaxScore
		}
		of = core.OutcomeOfScore(*score, maxScore)
	} else {
		of = core.OutcomeOfState(state, blame, of, score, maxScore)
	}
	return Standing{Submission: s, State: state, Blame: blame, Score: score, MaxScore: maxScore, Outcome: of}
}

// SubmissionFilter selects submissions. A zero field matches every submission.
type SubmissionFilter struct {
	Class      string
	Assignment string // its handle; with Class only
	User       string
	Asked      bool // only those with a question without an answer; with Class only
	// Idempotency is a key chosen by the User, who must be named as well: at most one submission has it.
	Idempotency string
	Before      string // ids before this one, newest first: a page's cursor
	Limit       int    // 1 to 1000; 0 is 50
}

// Assignments keeps assignments and personal deadlines.
// Put is as in Roster.
type Assignments interface {
	// PutAssignment returns NOTFOUND if there is no such class, and CONFLICT if the class is being deleted, unless
	// the change marks the assignment as being deleted too.
	PutAssignment(ctx context.Context, a Assignment) (revision int64, err error)
	GetAssignment(ctx context.Context, class, handle string) (Assignment, error)
	// ListAssignments lists assignments of a class, in order of handle.
	ListAssignments(ctx context.Context, class, after string, limit int) ([]Assignment, error)
	// DeleteAssignment removes an assignment with its deadlines and experiments. Returns CONFLICT while it has
	// submissions: DeleteSubmissions removes those, together with the requests of experiments.
	DeleteAssignment(ctx context.Context, class, handle string) error

	// PutDeadline sets a user's personal deadline; one without Due and Cutoff removes it. Returns NOTFOUND if there
	// is no such assignment or user, CONFLICT if the assignment or its class is being deleted.
	PutDeadline(ctx context.Context, d Deadline) error
	// Deadlines lists personal deadlines of a class; assignment and user select unless "".
	Deadlines(ctx context.Context, class, assignment, user string) ([]Deadline, error)
}

// Submissions keeps submissions and their grades.
type Submissions interface {
	Leads
	// CreateSubmission makes a submission durable together with the request that grades it (nil if there is none), in
	// one step. The request's id is the submission's Request, and no Purge removes it. The same id, or the same
	// idempotency key of the same user, returns the first submission and false. Returns CONFLICT if the id belongs to
	// another submission or request, or if the assignment or its class is being deleted, NOTFOUND if there is no such
	// assignment or user.
	CreateSubmission(ctx context.Context, s Submission, grading *core.Spec) (Submission, bool, error)
	GetSubmission(ctx context.Context, id string) (Submission, error)
	// ListSubmissions returns a page of submissions with their states, newest first.
	ListSubmissions(ctx context.Context, f SubmissionFilter) ([]Standing, error)
	// Standings returns the submission of each user that counts, by the table of Rules, users after the given one, in
	// order of user.
	Standings(ctx context.Context, class, assignment, after string, limit int) ([]Standing, error)
	// Bind makes the result of request to count for a submission, if until now that of request from did. Returns
	// false if it did not, NOTFOUND if there is no such submission, or no request to with this Spec.Submission. From
	// then on no Purge removes either request.
	Bind(ctx context.Context, id, from, to string) (bool, error)
	// SetGrade sets or, with nil, removes a person's grade.
	SetGrade(ctx context.Context, id string, g *Grade) error
	// DeleteSubmissions removes at most limit submissions of an assignment, with the history of every request that
	// was made for them (Spec.Submission), including those of experiments. A submission with an unfinished request is
	// left. It returns how many were removed and how many were left; if both are 0, none remain.
	DeleteSubmissions(ctx context.Context, class, assignment string, limit int) (removed, left int, err error)
}

// Experiments keeps experiments. Put is as in Roster.
type Experiments interface {
	// PutExperiment creates an experiment only if the assignment accepts submissions, as in CreateSubmission. Returns
	// CONFLICT for a state to which the transition table does not lead.
	PutExperiment(ctx context.Context, e Experiment) (revision int64, err error)
	GetExperiment(ctx context.Context, id string) (Experiment, error)
	// ListExperiments lists experiments of an assignment, newest first.
	ListExperiments(ctx context.Context, class, assignment string, limit int) ([]Experiment, error)
}

// MaxScore bounds a score that a person gives, also below zero.
const MaxScore = 1e12

// Check returns INVALID or LIMIT. A harness is checked where it is read, in core/harness.
func (a Assignment) Check() error {
	if err := core.CheckNames("class", a.Class, "assignment", a.Handle); err != nil {
		return err
	}
	id := a.Name()
	if err := cmp.Or(
		core.CheckTitle(id, "title", a.Title),
		core.CheckText(id, "text", a.Text, core.MaxText),
		core.CheckTimes(id, a.Due, a.Cutoff, a.HideUntil, a.Created),
		checkOrder(id, a.Due, a.Cutoff),
		a.Rules.Check(id),
	); err != nil {
		return err
	}
	if a.Pool != "" || a.Harness != nil {
		if err := core.CheckName("pool", a.Pool); err != nil {
			return err
		}
	}
	l := a.Limits
	switch {
	case !a.Priority.Valid():
		return core.Errorf(core.CodeInvalid, id, "priority %.40q of assignment %s is none: use high, normal or low", a.Priority, id)
	case l.Timeout < 0 || min(l.Memory, l.Disk, l.FileSize, int64(l.Pids), int64(l.OpenFiles), int64(l.CPU), l.Output) < 0:
		return core.Errorf(core.CodeInvalid, id, "a limit of assignment %s is negative: leave it out to get the pool's", id)
	case a.MaxFiles < 0 || a.MaxFiles > core.MaxFiles:
		return core.Errorf(core.CodeInvalid, id, "assignment %s takes %d files: use 1 to %d, or 0 for the most", id, a.MaxFiles, core.MaxFiles)
	case a.Policy() == CountsFinal && !a.AllowFinal:
		return core.Errorf(core.CodeInvalid, id, "final submissions count for assignment %s, which takes none: allow them, or let the newest or the best count", id)
	case a.MaxBytes < 0:
		return core.Errorf(core.CodeInvalid, id, "assignment %s takes %d bytes: use 0 for what the pool's disk holds", id, a.MaxBytes)
	}
	return nil
}

// checkOrder checks that a cutoff is not before its due date; 0 is never.
func checkOrder(id string, due, cutoff int64) error {
	if cutoff != 0 && cutoff < due {
		return core.Errorf(core.CodeInvalid, id, "the cutoff of %s is before its due date: nothing could ever be late; make it the same or later", id)
	}
	return nil
}

// Check returns INVALID or LIMIT.
func (d Deadline) Check() error {
	if err := core.CheckNames("class", d.Class, "assignment", d.Assignment, "user", d.User, "user", d.By); err != nil {
		return err
	}
	return cmp.Or(
		core.CheckTimes(d.User, d.Due, d.Cutoff, d.Since),
		checkOrder(d.User, d.Due, d.Cutoff),
		core.CheckText(d.User, "reason of the deadline", d.Reason, core.MaxReason),
	)
}

// Check checks a submission that is new, but for its files: those are a request's where it is graded.
// Returns INVALID or LIMIT.
func (s Submission) Check() error {
	if err := cmp.Or(
		core.CheckNames("submission id", s.ID, "class", s.Class, "assignment", s.Assignment, "user", s.User),
		core.CheckOptional("user", s.By), core.CheckOptional("request id", s.Request),
		core.CheckLine(s.ID, "idempotency key", s.Idempotency, core.MaxLine), core.CheckTimes(s.ID, s.At),
	); err != nil {
		return err
	}
	switch {
	case s.Kind != "public" && s.Kind != "final":
		return core.Errorf(core.CodeInvalid, s.ID, "submission %s is of kind %.40q: use public or final", s.ID, s.Kind)
	case s.Grade != nil:
		return core.Errorf(core.CodeInvalid, s.ID, "submission %s is new and has a grade: grade it once it is there", s.ID)
	}
	return nil
}

// Check checks a grade that a submission is to get. Returns INVALID or LIMIT.
func (g *Grade) Check(submission string) error {
	scores := []float64{g.Score}
	if g.MaxScore != nil {
		scores = append(scores, *g.MaxScore)
	}
	for _, score := range scores {
		if math.IsNaN(score) || math.Abs(score) > MaxScore {
			return core.Errorf(core.CodeInvalid, submission, "submission %s cannot get the score %v: use a number of at most %g", submission, score, MaxScore)
		}
	}
	return cmp.Or(core.CheckName("user", g.By), core.CheckText(submission, "reason of the grade", g.Reason, core.MaxReason), core.CheckTimes(submission, g.At))
}
