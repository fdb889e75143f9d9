package classes

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"

	"drover/core"
	"drover/core/harness"
	"drover/core/requests/intake"
	"drover/core/school"
)

// NewSubmission is what somebody submits.
type NewSubmission struct {
	Class       string
	Assignment  string // its handle
	User        string // whose it is; "" is the actor's
	Kind        string // harness.TestPublic or TestFinal; "" is public
	Files       iter.Seq2[intake.Upload, error]
	Idempotency string // the same key of the same user again is the same submission; "" is none
}

// Submit submits files for an assignment and, where that has a harness, requests
// their grading; an older request of the same user for it that still waits is
// withdrawn. Files are read only once it is known that the actor may submit.
//
// Submission and request are made by one call of the store, so a crash leaves both or neither:
//
//	died after                  what exists                               who goes on
//	a file was stored           files that nothing names                  nobody: the purge of files takes them
//	the entry of the audit log  an entry                                  the same call again
//	CreateSubmission            both, and Redis does not have the request Sweep queues it; the same idempotency
//	                                                                      key returns them
//	older ones were withdrawn   the same, of one                          the same
//	Enqueue                     all                                       -
//
// Whether there is room for the request is asked before anything is stored, see intake.SubmitWith.
//
// Returns NOTFOUND, FORBIDDEN, ENDED after the cutoff (unless the actor teaches there), CONFLICT while it is deleted,
// INVALID, LIMIT, FULL where too much work is waiting, or a student submits too much, CONFLICT where the idempotency key
// was used for something else.
func (r *Service) Submit(ctx context.Context, a core.Actor, h NewSubmission) (school.Submission, error) {
	h.User, h.Kind = cmp.Or(h.User, a.Handle), cmp.Or(h.Kind, harness.TestPublic)
	as, err := r.submittable(ctx, a, h)
	if err != nil {
		return school.Submission{}, err
	}
	if was, err := r.submittedBefore(ctx, as, h); err != nil || was.ID != "" {
		return was, err
	}
	if as, err = r.takesSubmission(ctx, a, as, h); err != nil {
		return school.Submission{}, err
	}
	if err := r.submits(ctx, a, as.Class); err != nil {
		return school.Submission{}, err
	}
	s := school.Submission{ID: r.newID(), Class: as.Class, Assignment: as.Handle, User: h.User, Kind: h.Kind, Idempotency: h.Idempotency}
	if a.Handle != h.User {
		s.By = a.Handle
	}
	text := fmt.Sprintf("submits for %s to %s (%s)", h.User, as.Name(), h.Kind)
	err = r.change(ctx, a, aboutUser(core.ActSubmit, as, h.User, text), func() error {
		if s.Files, err = r.take(ctx, as, h.Files); err != nil {
			return err
		}
		if err := r.keeps(ctx, a, as.Class, s.Files); err != nil {
			return err
		}
		if err := r.inTime(a, as); err != nil { // files can be slow
			return err
		}
		s.At = r.now().UnixMilli()
		s, err = r.submitTo(ctx, as, s)
		return err
	})
	return s, err
}

// submittable returns the assignment if the actor may submit for it at all.
func (r *Service) submittable(ctx context.Context, a core.Actor, h NewSubmission) (school.Assignment, error) {
	act := core.ActSubmit
	if h.User != a.Handle {
		act = core.ActSubmitFor
	}
	as, err := r.openAssignment(ctx, a, h.Class, h.Assignment, act, h.User)
	if err != nil {
		return school.Assignment{}, err
	}
	if role, err := r.roleIn(ctx, as.Class, h.User); err != nil || role == "" && !a.Has(core.RoleAdmin) {
		return school.Assignment{}, cmp.Or(err, noMember(as.Class, h.User))
	}
	return as, nil
}

// submittedBefore returns what was submitted under the same idempotency key before, if it was: a
// repeat is not refused for what has changed since, such as the time, nor are its files read.
func (r *Service) submittedBefore(ctx context.Context, as school.Assignment, h NewSubmission) (school.Submission, error) {
	if h.Idempotency == "" || len(h.Idempotency) > intake.MaxIdempotency {
		return school.Submission{}, nil
	}
	all, err := r.Store.ListSubmissions(ctx, school.SubmissionFilter{User: h.User, Idempotency: h.Idempotency, Limit: 1})
	if err != nil || len(all) == 0 {
		return school.Submission{}, err
	}
	was := all[0].Submission
	return was, usedFor(&was, as.Class, as.Handle)
}

// usedFor returns CONFLICT if a submission is for something else than its idempotency key
// is used for now.
func usedFor(was *school.Submission, class, assignment string) error {
	if was.Class == class && was.Assignment == assignment {
		return nil
	}
	return core.Errorf(core.CodeConflict, was.Idempotency, "the idempotency key %q was used for %s/%s: use another one", was.Idempotency, was.Class, was.Assignment)
}

// takesSubmission returns the assignment with the user's own deadlines, if it takes now what is
// submitted. It looks at nothing that takes long.
func (r *Service) takesSubmission(ctx context.Context, a core.Actor, as school.Assignment, h NewSubmission) (school.Assignment, error) {
	if _, err := r.Store.GetUser(ctx, h.User); err != nil {
		return school.Assignment{}, err
	}
	switch {
	case h.Kind != harness.TestPublic && h.Kind != harness.TestFinal:
		return school.Assignment{}, core.Errorf(core.CodeInvalid, as.Name(), "a submission is %s or %s, not %.40q", harness.TestPublic, harness.TestFinal, h.Kind)
	case h.Kind == harness.TestFinal && !as.AllowFinal:
		return school.Assignment{}, core.Errorf(core.CodeInvalid, as.Name(), "assignment %s takes no final submissions: submit it as %s", as.Name(), harness.TestPublic)
	case len(h.Idempotency) > intake.MaxIdempotency:
		return school.Assignment{}, core.Errorf(core.CodeLimit, as.Name(), "the idempotency key has %d bytes, at most %d are allowed", len(h.Idempotency), intake.MaxIdempotency)
	}
	d, err := r.deadline(ctx, as, h.User)
	if err != nil {
		return school.Assignment{}, err
	}
	as = as.For(d)
	return as, r.inTime(a, as)
}

// inTime returns ENDED if the actor may hand nothing in any more.
func (r *Service) inTime(a core.Actor, as school.Assignment) error {
	if as.Cutoff == 0 || r.now().UnixMilli() <= as.Cutoff {
		return nil
	}
	if core.Allow(a, core.ActSubmitFor, core.Object{Class: as.Class}) == nil {
		return nil
	}
	return core.Errorf(core.CodeEnded, as.Name(), "the cutoff date of %s has already passed (%s): ask who teaches it for more time", as.Name(), moment(as.Cutoff))
}

// take stores the files as they come.
func (r *Service) take(ctx context.Context, as school.Assignment, uploads iter.Seq2[intake.Upload, error]) ([]core.File, error) {
	room, err := r.room(ctx, as)
	if err != nil {
		return nil, err
	}
	most := cmp.Or(as.MaxFiles, core.MaxFiles)
	var files []core.File
	for u, err := range uploads {
		switch {
		case err != nil:
			return nil, core.Wrap(err, core.CodeOr(err, core.CodeInvalid), as.Name(), "what was submitted cannot be read")
		case len(files) == most:
			return nil, core.Errorf(core.CodeLimit, as.Name(), "%s takes at most %d files: pack them into an archive", as.Name(), most)
		case !fs.ValidPath(u.Path):
			return nil, core.Errorf(core.CodeInvalid, u.Path, "file path %.80q is not relative, clean and without ..", u.Path)
		}
		f, err := u.Keep(ctx, r.Blobs, room)
		if err != nil {
			return nil, err
		}
		room -= f.Size
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, core.Errorf(core.CodeInvalid, as.Name(), "no file was submitted: choose at least one")
	}
	return files, intake.CheckFiles(as.Name(), files)
}

// maxUngraded bounds the bytes of a submission that no pool's disk bounds.
const maxUngraded = 256 << 20

// room is how many bytes a submission may have.
func (r *Service) room(ctx context.Context, as school.Assignment) (int64, error) {
	most := int64(maxUngraded)
	if as.Pool != "" {
		p, err := r.pool(ctx, as.Pool)
		if err != nil {
			return 0, err
		}
		most = as.Limits.Or(p.Limits).Disk
	}
	if as.MaxBytes > 0 {
		most = min(most, as.MaxBytes)
	}
	return most, nil
}

// submitTo makes a submission durable, with the request that grades it where there is a harness, or
// returns the one that was there.
func (r *Service) submitTo(ctx context.Context, as school.Assignment, s school.Submission) (school.Submission, error) {
	if as.Harness == nil {
		stored, _, err := r.store(ctx, as, s, nil)
		return stored, err
	}
	spec, err := r.grading(ctx, as, s)
	if err != nil {
		return school.Submission{}, err
	}
	var stored school.Submission
	err = r.Intake.SubmitWith(ctx, spec, func(ctx context.Context, spec core.Spec) (created bool, err error) {
		s.Request, s.At = spec.ID, spec.Submitted
		stored, created, err = r.store(ctx, as, s, &spec)
		return created, err
	})
	return stored, err
}

// store makes a submission durable, or returns the one that was there and false.
func (r *Service) store(ctx context.Context, as school.Assignment, s school.Submission, grading *core.Spec) (school.Submission, bool, error) {
	s.Late = as.Due != 0 && s.At > as.Due
	stored, created, err := r.Store.CreateSubmission(ctx, s, grading)
	if err == nil && !created {
		err = usedFor(&stored, s.Class, s.Assignment)
	}
	return stored, created, err
}

// grading is the request that grades a submission.
func (r *Service) grading(ctx context.Context, as school.Assignment, s school.Submission) (core.Spec, error) {
	notify, err := r.notified(ctx, as.Class, core.EventRequestEnded)
	if err != nil {
		return core.Spec{}, err
	}
	spec := harness.Grading(as, s)
	spec.ID, spec.Submitter, spec.Notify, spec.Supersede = s.ID, s.User, notify, true
	return spec, nil
}
