package bounds

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"math"
	"slices"

	"drover/core"
	"drover/core/school"
)

// The bounds of coursework.
const (
	MaxHarnessConfig   = 64 << 10 // harness.json
	MaxExperimentUsers = 2000     // users that an experiment may name
	MaxRepeat          = 100      // runs of a submission in an experiment
	MaxScore           = 1e12     // of any score, positive or negative
	maxPath            = 4095     // of a file, by Linux
)

// Assignment checks an assignment. Returns INVALID or LIMIT.
func Assignment(a school.Assignment) error {
	if err := names("class", a.Class, "assignment", a.Handle); err != nil {
		return err
	}
	id := a.Name()
	if err := cmp.Or(
		title(id, "title", a.Title),
		text(id, "text", a.Text, MaxText),
		times(id, a.Due, a.Cutoff, a.HideUntil, a.Created),
		ordered(id, a.Due, a.Cutoff),
		harness(id, a.Harness),
		revision(id, a.Revision),
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
	case a.MaxBytes < 0:
		return core.Errorf(core.CodeInvalid, id, "assignment %s takes %d bytes: use 0 for what the pool's disk holds", id, a.MaxBytes)
	}
	return nil
}

// ordered checks that a cutoff is not before its due date; 0 is never.
func ordered(id string, due, cutoff int64) error {
	if cutoff != 0 && cutoff < due {
		return core.Errorf(core.CodeInvalid, id, "the cutoff of %s is before its due date: nothing could ever be late; make it the same or later", id)
	}
	return nil
}

func harness(id string, h *school.Harness) error {
	if h == nil {
		return nil
	}
	if err := digest(id, "its harness", h.File); err != nil {
		return err
	}
	if len(h.Config) > MaxHarnessConfig {
		return core.Errorf(core.CodeLimit, id, "the harness of %s has a configuration of %d bytes, at most %d are allowed", id, len(h.Config), MaxHarnessConfig)
	}
	if len(h.Config) > 0 && !json.Valid(h.Config) {
		return core.Errorf(core.CodeInvalid, id, "the configuration of the harness of %s is not JSON", id)
	}
	return nil
}

// digest checks the digest of a file.
func digest(id, what string, f core.File) error {
	if _, sum, err := core.ParseImageRef("file@" + f.Digest); err != nil || sum == "" || f.Size < 0 {
		return core.Errorf(core.CodeInvalid, id, "%s names %s by the digest %.80q of %d bytes, which cannot be: it has the form sha256: and 64 hex digits",
			id, what, f.Digest, f.Size)
	}
	return nil
}

// Deadline checks a personal deadline. Returns INVALID or LIMIT.
func Deadline(d school.Deadline) error {
	if err := names("class", d.Class, "assignment", d.Assignment, "user", d.User, "user", d.By); err != nil {
		return err
	}
	return cmp.Or(
		times(d.User, d.Due, d.Cutoff, d.Since),
		ordered(d.User, d.Due, d.Cutoff),
		text(d.User, "reason of the deadline", d.Reason, MaxReason),
	)
}

// Submission checks a new submission and the request that grades it, if one does, and returns their
// encodings. Returns INVALID or LIMIT.
func Submission(s school.Submission, grading *core.Spec) (doc, spec []byte, err error) {
	if doc, err = submission(s); err != nil || grading == nil && s.Request == "" {
		return doc, nil, err
	}
	if grading == nil || grading.ID != s.Request || grading.Submission != s.ID || grading.Idempotency != "" {
		return nil, nil, core.Errorf(core.CodeInvalid, s.ID, "submission %s is not stored with the request %q that grades it", s.ID, s.Request)
	}
	spec, err = Spec(*grading)
	return doc, spec, err
}

func submission(s school.Submission) ([]byte, error) {
	if err := names("submission id", s.ID, "class", s.Class, "assignment", s.Assignment, "user", s.User); err != nil {
		return nil, err
	}
	for kind, name := range map[string]string{"user": s.By, "request id": s.Request} {
		if name != "" {
			if err := core.CheckName(kind, name); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case s.Kind != "public" && s.Kind != "final":
		return nil, core.Errorf(core.CodeInvalid, s.ID, "submission %s is of kind %.40q: use public or final", s.ID, s.Kind)
	case s.Grade != nil:
		return nil, core.Errorf(core.CodeInvalid, s.ID, "submission %s is new and has a grade: grade it once it is there", s.ID)
	case len(s.Files) > core.MaxFiles:
		return nil, core.Errorf(core.CodeLimit, s.ID, "submission %s has %d files, at most %d are allowed", s.ID, len(s.Files), core.MaxFiles)
	}
	if err := cmp.Or(files(s.ID, s.Files), line(s.ID, "idempotency key", s.Idempotency, MaxLine), times(s.ID, s.At)); err != nil {
		return nil, err
	}
	doc, err := json.Marshal(s)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, s.ID, "submission %s cannot be written as JSON", s.ID)
	}
	if len(doc) > core.MaxSpecBytes {
		return nil, core.Errorf(core.CodeLimit, s.ID, "submission %s has %d bytes beside its files, at most %d are allowed: submit fewer files", s.ID, len(doc), core.MaxSpecBytes)
	}
	return doc, nil
}

func files(id string, all []core.File) error {
	known := make(map[string]bool, len(all))
	for _, f := range all {
		if err := cmp.Or(line(id, "file path", f.Path, maxPath), digest(id, "a file", f)); err != nil {
			return err
		}
		if !fs.ValidPath(f.Path) || f.Path == "." || known[f.Path] {
			return core.Errorf(core.CodeInvalid, id, "file path %q of submission %s is not relative, clean and its only one", f.Path, id)
		}
		known[f.Path] = true
	}
	return nil
}

// SameSubmission reports whether two submissions of one id are the same: user, content and assignment. Time and
// result do not count.
func SameSubmission(a, b school.Submission) bool {
	return a.Class == b.Class && a.Assignment == b.Assignment && a.User == b.User && a.By == b.By && a.Kind == b.Kind && slices.Equal(a.Files, b.Files)
}

// Submissions checks a filter and returns the number of rows that it selects. Returns INVALID.
func Submissions(f school.SubmissionFilter) (int, error) {
	if f.Assignment != "" && f.Class == "" {
		return 0, core.Errorf(core.CodeInvalid, f.Assignment, "submissions for %s are looked for without its class: name that too", f.Assignment)
	}
	if f.Idempotency != "" && f.User == "" {
		return 0, core.Errorf(core.CodeInvalid, "", "a submission is looked for by its idempotency key without its user: name that too")
	}
	return rows(f.Limit)
}

// Grade checks a grade; nil is none. Returns INVALID or LIMIT.
func Grade(id string, g *school.Grade) error {
	if g == nil {
		return nil
	}
	scores := []float64{g.Score}
	if g.MaxScore != nil {
		scores = append(scores, *g.MaxScore)
	}
	for _, score := range scores {
		if math.IsNaN(score) || math.Abs(score) > MaxScore {
			return core.Errorf(core.CodeInvalid, id, "submission %s cannot get the score %v: use a number of at most %g", id, score, MaxScore)
		}
	}
	return cmp.Or(core.CheckName("user", g.By), text(id, "reason of the grade", g.Reason, MaxReason), times(id, g.At))
}

// Experiment checks an experiment. Returns INVALID or LIMIT.
func Experiment(e school.Experiment) error {
	if err := names("experiment id", e.ID, "class", e.Class, "assignment", e.Assignment, "user", e.By); err != nil {
		return err
	}
	switch e.State {
	case school.ExperimentRunning, school.ExperimentReady, school.ExperimentApplying, school.ExperimentApplied, school.ExperimentAborted:
	default:
		return core.Errorf(core.CodeInvalid, e.ID, "experiment %s has the state %.40q, which is none", e.ID, e.State)
	}
	if e.Repeat < 1 || e.Repeat > MaxRepeat {
		return core.Errorf(core.CodeInvalid, e.ID, "experiment %s runs each submission %d times: use 1 to %d", e.ID, e.Repeat, MaxRepeat)
	}
	if len(e.Users) > MaxExperimentUsers {
		return core.Errorf(core.CodeLimit, e.ID, "experiment %s names %d users, at most %d are allowed: name none for everybody", e.ID, len(e.Users), MaxExperimentUsers)
	}
	if e.Requests < 0 {
		return core.Errorf(core.CodeInvalid, e.ID, "experiment %s makes %d requests, which cannot be", e.ID, e.Requests)
	}
	for _, user := range e.Users {
		if err := core.CheckName("user", user); err != nil {
			return err
		}
	}
	if e.DecidedBy != "" {
		if err := core.CheckName("user", e.DecidedBy); err != nil {
			return err
		}
	}
	return cmp.Or(harness(e.ID, e.Harness), times(e.ID, e.Created, e.Decided), revision(e.ID, e.Revision))
}
