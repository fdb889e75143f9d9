package classes

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"strings"

	"drover/core"
	"drover/core/harness"
	"drover/core/requests/intake"
	"drover/core/school"
)

// NewSubmission is a submission to be made.
type NewSubmission struct {
	Class       string
	Assignment  string // its handle
	User        string // whose submission it is; "" is the actor's
	Kind        string // harness.TestPublic or TestFinal; "" is public
	Files       iter.Seq2[intake.Upload, error]
	Source      *school.Source // set by Files, of what they were fetched from; nil for files that are sent
	Check       func() error   // of what Files come from, once it is clear that the actor may submit; nil: nothing
	Idempotency string         // the same key of the same user names the same submission; "" is none
}

// Submit submits files to an assignment and, if it has a harness, requests their grading.
// An older request of the same user for it that still waits is withdrawn. Files are read
// only after the right to submit is checked.
//
// Submission and request are made by one call of the store, so a crash leaves both or neither:
//
//	crash after                 what exists                               healed by
//	a file was stored           files to which nothing refers             the purge of files deletes them
//	the entry of the audit log  an entry                                  the same call again
//	CreateSubmission            both, and Redis does not have the request Sweep queues it; the same idempotency
//	                                                                      key returns them
//	older ones were withdrawn   the same, of one                          the same
//	Enqueue                     all                                       -
//
// Room for the request is checked before anything is stored, see intake.SubmitWith.
//
// Returns NOTFOUND, FORBIDDEN, ENDED after the cutoff (unless the actor is staff of the class), CONFLICT while the
// assignment is being deleted or if the idempotency key was used for something else, INVALID, LIMIT, FULL if too much
// work is waiting or a student submits too much.
func (r *Service) Submit(ctx context.Context, a core.Actor, h NewSubmission) (school.Submission, error) {
	h.User, h.Kind = cmp.Or(h.User, a.Handle), cmp.Or(h.Kind, harness.TestPublic)
	as, err := r.submittable(ctx, a, h)
	if err != nil {
		return school.Submission{}, err
	}
	if was, err := r.submittedBefore(ctx, as, h); err != nil || was.ID != "" {
		return was, err
	}
	s := school.Submission{ID: r.newID(), Class: as.Class, Assignment: as.Handle, User: h.User, Kind: h.Kind, Idempotency: h.Idempotency}
	if a.Handle != h.User {
		s.By = a.Handle
	}
	if err := s.Check(); err != nil {
		return school.Submission{}, err
	}
	if as, err = r.takesSubmission(ctx, a, as, h); err != nil {
		return school.Submission{}, err
	}
	if h.Check != nil {
		if err := h.Check(); err != nil {
			return school.Submission{}, err
		}
	}
	if err := r.submits(ctx, a, as.Class); err != nil {
		return school.Submission{}, err
	}
	text := fmt.Sprintf("submits for %s to %s (%s)", h.User, as.Name(), h.Kind)
	err = r.change(ctx, a, aboutUser(core.ActSubmit, as, h.User, text), func() error {
		if s.Files, err = r.take(ctx, as, h.Files); err != nil {
			return err
		}
		if err := r.keeps(ctx, a, as.Class, s.Files); err != nil {
			return err
		}
		if err := r.inTime(a, as); err != nil { // files can take long to arrive
			return err
		}
		s.At, s.Source = r.now().UnixMilli(), h.Source
		s, err = r.submitTo(ctx, as, s)
		return err
	})
	return s, err
}

// submittable returns the assignment if the actor may submit to it at all.
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

// submittedBefore returns the earlier submission with the same idempotency key, if there is one: a repeated call is
// not refused because of later changes, such as the time, and its files are not read.
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

// usedFor returns CONFLICT if the earlier submission was to another assignment than the one named now.
func usedFor(was *school.Submission, class, assignment string) error {
	if was.Class == class && was.Assignment == assignment {
		return nil
	}
	return core.Errorf(core.CodeConflict, was.Idempotency, "the idempotency key %q was used for %s/%s: use another one", was.Idempotency, was.Class, was.Assignment)
}

// takesSubmission returns the assignment with the user's personal deadlines, if it accepts submissions now. It does
// only quick checks.
func (r *Service) takesSubmission(ctx context.Context, a core.Actor, as school.Assignment, h NewSubmission) (school.Assignment, error) {
	if _, err := r.Store.GetUser(ctx, h.User); err != nil {
		return school.Assignment{}, err
	}
	switch {
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

// inTime returns ENDED if the actor may not submit any more.
func (r *Service) inTime(a core.Actor, as school.Assignment) error {
	if as.Cutoff == 0 || r.now().UnixMilli() <= as.Cutoff {
		return nil
	}
	if core.Allow(a, core.ActSubmitFor, core.Object{Class: as.Class}) == nil {
		return nil
	}
	return core.Errorf(core.CodeEnded, as.Name(), "the cutoff date of %s has already passed (%s): ask who teaches it for more time", as.Name(), moment(as.Cutoff))
}

// take stores the files as they arrive.
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
	if missing := as.Missing(files); len(files) > 0 && len(missing) > 0 {
		return nil, core.Errorf(core.CodeInvalid, as.Name(), "%s wants files that are missing: %s; submit them under exactly these names, with all others", as.Name(), strings.Join(missing, ", "))
	}
	if len(files) == 0 {
		return nil, core.Errorf(core.CodeInvalid, as.Name(), "no file was submitted: choose at least one")
	}
	return files, nil
}

// maxUngraded bounds the bytes of a submission that no pool's disk bounds.
const maxUngraded = 256 << 20

// room returns how many bytes a submission may have.
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

// submitTo makes a submission durable, together with the request that grades it if there is a harness, or returns the
// existing submission.
func (r *Service) submitTo(ctx context.Context, as school.Assignment, s school.Submission) (school.Submission, error) {
	if as.Harness == nil {
		if err := intake.CheckFiles(as.Name(), s.Files); err != nil { // of one that is graded the intake does
			return school.Submission{}, err
		}
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

// store makes a submission durable, or returns the existing one and false.
func (r *Service) store(ctx context.Context, as school.Assignment, s school.Submission, grading *core.Spec) (school.Submission, bool, error) {
	s.Late = as.DaysLate(s.At) > 0
	stored, created, err := r.Store.CreateSubmission(ctx, s, grading)
	if err == nil && !created {
		err = usedFor(&stored, s.Class, s.Assignment)
	}
	return stored, created, err
}

// grading returns the request that grades a submission.
func (r *Service) grading(ctx context.Context, as school.Assignment, s school.Submission) (core.Spec, error) {
	notify, err := r.notified(ctx, as.Class, core.EventRequestEnded)
	if err != nil {
		return core.Spec{}, err
	}
	spec := harness.Grading(as, s)
	spec.ID, spec.Submitter, spec.Notify, spec.Supersede, spec.Due = s.ID, s.User, notify, true, as.Due
	return spec, nil
}
