package classes

import (
	"archive/zip"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"drover/core"
	"drover/core/classes/portable"
	"drover/core/school"
	"drover/core/store/bounds"
)

// SubmissionEntry is a submission with its status in words.
type SubmissionEntry struct {
	school.Standing
	Status Status `json:"status"`
}

// SubmissionView is everything that an actor may see of a submission.
type SubmissionView struct {
	SubmissionEntry
	Reason      string       `json:"reason,omitempty"`  // of a bad end, one sentence
	Explanation string       `json:"explain,omitempty"` // whose fault it is, and what to do
	Resubmit    bool         `json:"resubmit"`          // whether the actor may have it tested again now
	Result      *core.Result `json:"result,omitempty"`  // nil until there is one; only staff see where it ran, and hidden output
}

// ViewSubmission returns a submission with its result, to staff of the class, and to its owner while the assignment
// is visible. Returns NOTFOUND.
func (r *Service) ViewSubmission(ctx context.Context, a core.Actor, id string) (SubmissionView, error) {
	s, as, err := r.submission(ctx, a, id, core.ActSubmissionView)
	if err != nil {
		return SubmissionView{}, err
	}
	standing, result, err := r.standing(ctx, s)
	if err != nil {
		return SubmissionView{}, err
	}
	v := SubmissionView{SubmissionEntry: SubmissionEntry{standing, statusOf(standing)}, Explanation: explain(standing)}
	v.Resubmit = r.mayResubmit(ctx, a, as, standing) == nil
	if result != nil {
		v.Reason = result.Reason
		if core.Allow(a, core.ActGradeView, core.Object{Class: s.Class}) != nil {
			result = forStudents(*result, as.ShowOutput)
		}
		v.Result = result
	}
	return v, nil
}

// forStudents removes where and how the tests were run and judged, the exact usage of hidden tests, and the harness's output unless
// staff show it: the output may reveal hidden tests.
func forStudents(r core.Result, output bool) *core.Result {
	r = r.Coarse()
	r.Host, r.VM, r.Token, r.HeldBy, r.Receipt = "", "", "", nil, nil
	r.Tests = slices.Clone(r.Tests)
	for i := range r.Tests {
		r.Tests[i].Decision = nil
		if c := r.Tests[i].Checked; c != nil {
			r.Tests[i].Checked = c.Public()
		}
	}
	if !output {
		r.Stdout, r.Stderr = "", ""
	}
	return &r
}

// WatchSubmission returns the id of the request that tests a submission, "" if there is none, for an actor who may
// watch the tests, and whether the actor may see the harness's output. Returns NOTFOUND.
func (r *Service) WatchSubmission(ctx context.Context, a core.Actor, id string) (request string, output bool, err error) {
	s, as, err := r.submission(ctx, a, id, core.ActSubmissionView)
	if err != nil {
		return "", false, err
	}
	return s.Request, as.ShowOutput || core.Allow(a, core.ActGradeView, core.Object{Class: s.Class}) == nil, nil
}

// standing returns the state and score of a submission, and its result if there is one.
func (r *Service) standing(ctx context.Context, s school.Submission) (school.Standing, *core.Result, error) {
	var row core.Row
	if s.Request != "" {
		var err error
		if row, err = r.Store.Get(ctx, s.Request); err != nil && !core.Is(err, core.CodeNotFound) {
			return school.Standing{}, nil, err
		}
	}
	if row.Result == nil {
		return s.Standing(row.State, "", "", nil, nil), nil, nil
	}
	return s.Standing(row.State, row.Result.Blame, core.OutcomeOf(row.Result), row.Result.Score, row.Result.MaxScore), row.Result, nil
}

// ListSubmissions lists submissions of a class, newest first: all of them for staff, else the actor's own to visible
// assignments. Returns NOTFOUND, FORBIDDEN for another user's, INVALID.
func (r *Service) ListSubmissions(ctx context.Context, a core.Actor, f school.SubmissionFilter) ([]SubmissionEntry, error) {
	if f.Assignment != "" {
		if _, err := r.assignment(ctx, a, f.Class, f.Assignment, core.ActAssignmentView, ""); err != nil {
			return nil, err
		}
	}
	if _, err := r.class(ctx, a, f.Class, core.ActClassView); err != nil {
		return nil, err
	}
	if f.User == "" && core.Allow(a, core.ActSubmissionView, core.Object{Class: f.Class}) != nil {
		f.User = a.Handle
	}
	if err := core.Allow(a, core.ActSubmissionView, core.Object{Class: f.Class, Owner: f.User}); err != nil {
		return nil, err
	}
	visible, err := r.visible(ctx, a, f.Class)
	if err != nil {
		return nil, err
	}
	shown := make(map[string]bool, len(visible))
	for i := range visible {
		shown[visible[i].Handle] = true
	}
	f.Limit = cmp.Or(f.Limit, bounds.DefaultRows)
	all := []SubmissionEntry{}
	for {
		some, err := r.Store.ListSubmissions(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			if f.Before = s.Submission.ID; shown[s.Submission.Assignment] && len(all) < f.Limit {
				all = append(all, SubmissionEntry{s, statusOf(s)})
			}
		}
		if len(some) < f.Limit || len(all) == f.Limit {
			return all, nil
		}
	}
}

// Resubmit has a submission tested again, unchanged. Its owner may do so until the cutoff if it was not tested to the
// end, staff of the class at any time. Returns NOTFOUND, FORBIDDEN, ENDED, LIMIT, and CONFLICT while it waits or
// runs.
func (r *Service) Resubmit(ctx context.Context, a core.Actor, id string) error {
	s, as, err := r.submission(ctx, a, id, core.ActSubmissionRerun)
	if err != nil {
		return err
	}
	standing, _, err := r.standing(ctx, s)
	if err != nil {
		return err
	}
	if err := r.mayResubmit(ctx, a, as, standing); err != nil {
		return err
	}
	if err := r.submits(ctx, a, as.Class); err != nil {
		return err
	}
	text := fmt.Sprintf("has submission %s of %s to %s tested again", s.ID, s.User, as.Name())
	return r.change(ctx, a, aboutUser(core.ActSubmissionRerun, as, s.User, text), func() error {
		_, err := r.Intake.Rerun(ctx, s.Request)
		return err
	})
}

// mayResubmit returns why a submission cannot be tested again now; nil if it can.
func (r *Service) mayResubmit(ctx context.Context, a core.Actor, as school.Assignment, s school.Standing) error {
	id := s.Submission.ID
	if err := core.Allow(a, core.ActSubmissionRerun, core.Object{Class: as.Class, Owner: s.Submission.User}); err != nil {
		return err
	}
	if _, err := r.openClass(ctx, a, as.Class, core.ActClassView); err != nil {
		return err
	}
	d, err := r.deadline(ctx, as, s.Submission.User)
	if err != nil {
		return err
	}
	if err := r.inTime(a, as.For(d)); err != nil {
		return err
	}
	switch {
	case as.Deleting:
		return being("assignment", as.Name())
	case s.Submission.Request == "" || s.State == "":
		return core.Errorf(core.CodeConflict, id, "submission %s has no test request: submit it again", id)
	case !s.State.Terminal():
		return core.Errorf(core.CodeConflict, id, "submission %s is waiting for its test results already", id)
	case s.State == core.RequestCompleted && core.Allow(a, core.ActSubmitFor, core.Object{Class: as.Class}) != nil:
		return core.Errorf(core.CodeConflict, id, "submission %s has its test results: submit it again to have it tested anew", id)
	}
	return nil
}

// OpenFile opens one file of a submission. Returns NOTFOUND.
func (r *Service) OpenFile(ctx context.Context, a core.Actor, id, path string) (core.File, io.ReadCloser, error) {
	f, err := r.OpenFiles(ctx, a, id)
	if err != nil {
		return core.File{}, nil, err
	}
	return f.Open(ctx, path)
}

// Zip is a submission that can be written as a zip.
type Zip struct {
	Name string // under which a browser saves it
	at   time.Time
	of   []core.File
	from core.Blobs
}

// OpenZip returns a submission as a zip. Returns NOTFOUND.
func (r *Service) OpenZip(ctx context.Context, a core.Actor, id string) (*Zip, error) {
	s, _, err := r.submission(ctx, a, id, core.ActSubmissionView)
	if err != nil {
		return nil, err
	}
	at := time.UnixMilli(s.At).UTC()
	name := fmt.Sprintf("%s-%s-%s-%s.zip", s.Class, s.Assignment, s.User, at.Format("2006-01-02-15-04-05"))
	return &Zip{name, at, s.Files, r.Blobs}, nil
}

// Write writes the zip, file by file, under names that any system unpacks into one folder. Returns NOTFOUND if a file
// is lost; the output is then no valid zip.
func (z *Zip) Write(ctx context.Context, to io.Writer) error {
	w := zip.NewWriter(to)
	names := portable.NewNames()
	for _, f := range z.of {
		if err := z.add(ctx, w, names.Safe(f.Path), f); err != nil {
			return err
		}
	}
	return w.Close()
}

func (z *Zip) add(ctx context.Context, w *zip.Writer, name string, f core.File) error {
	content, err := z.from.Open(ctx, f.Digest)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	head := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.at}
	head.SetMode(fs.FileMode(cmp.Or(f.Mode, 0o644)))
	into, err := w.CreateHeader(head)
	if err != nil {
		return err
	}
	_, err = io.Copy(into, content)
	return err
}
