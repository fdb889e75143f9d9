package classes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"drover/core"
	"drover/core/harness"
	"drover/core/requests/intake"
	"drover/core/store/bounds"
)

// NewSubmission is what somebody submits.
type NewSubmission struct {
	Class       string
	Assignment  string // its handle
	User        string // whose it is; "" is the actor's
	Kind        string // harness.TestPublic or TestFinal; "" is public
	Files       iter.Seq2[Upload, error]
	Idempotency string // the same key of the same user again is the same submission; "" is none
}

// Upload is one file on its way in. Its content is read before the next one is asked for.
type Upload struct {
	Path    string // as core.File has it
	Mode    uint32 // permission bits; 0 means 0644
	Content io.Reader
}

// Submit submits files for an assignment and, where that has a harness, requests
// their grading; an older request of the same user for it that still waits is
// withdrawn. Files are read only once it is known that the actor may submit.
//
// The request is made first, with the submission's id. A crash before the submission is
// stored leaves a request that nothing names; the same call with the same
// idempotency key goes on from there.
//
// Returns NOTFOUND, FORBIDDEN, ENDED after the cutoff (unless the actor teaches there), CONFLICT while it is deleted,
// INVALID, LIMIT, FULL where too much work is waiting, or a student submits too much, CONFLICT where the idempotency key
// was used for something else.
func (r *Service) Submit(ctx context.Context, a core.Actor, h NewSubmission) (core.Submission, error) {
	h.User, h.Kind = cmp.Or(h.User, a.Handle), cmp.Or(h.Kind, harness.TestPublic)
	as, err := r.submittable(ctx, a, h)
	if err != nil {
		return core.Submission{}, err
	}
	if was, err := r.submittedBefore(ctx, as, h); err != nil || was.ID != "" {
		return was, err
	}
	if as, err = r.takesSubmission(ctx, a, as, h); err != nil {
		return core.Submission{}, err
	}
	if err := r.submits(ctx, a, as.Class); err != nil {
		return core.Submission{}, err
	}
	s := core.Submission{ID: r.newID(), Class: as.Class, Assignment: as.Handle, User: h.User, Kind: h.Kind, Idempotency: h.Idempotency}
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
func (r *Service) submittable(ctx context.Context, a core.Actor, h NewSubmission) (core.Assignment, error) {
	act := core.ActSubmit
	if h.User != a.Handle {
		act = core.ActSubmitFor
	}
	as, err := r.openAssignment(ctx, a, h.Class, h.Assignment, act, h.User)
	if err != nil {
		return core.Assignment{}, err
	}
	if role, err := r.roleIn(ctx, as.Class, h.User); err != nil || role == "" && !a.Has(core.RoleAdmin) {
		return core.Assignment{}, cmp.Or(err, noMember(as.Class, h.User))
	}
	return as, nil
}

// submittedBefore returns what was submitted under the same idempotency key before, if it was: a
// repeat is not refused for what has changed since, such as the time, nor are its files read.
func (r *Service) submittedBefore(ctx context.Context, as core.Assignment, h NewSubmission) (core.Submission, error) {
	if h.Idempotency == "" || len(h.Idempotency) > maxIdempotency {
		return core.Submission{}, nil
	}
	all, err := r.Store.ListSubmissions(ctx, core.SubmissionFilter{User: h.User, Idempotency: h.Idempotency, Limit: 1})
	if err != nil || len(all) == 0 {
		return core.Submission{}, err
	}
	was := all[0].Submission
	return was, usedFor(&was, as.Class, as.Handle)
}

// usedFor returns CONFLICT if a submission is for something else than its idempotency key
// is used for now.
func usedFor(was *core.Submission, class, assignment string) error {
	if was.Class == class && was.Assignment == assignment {
		return nil
	}
	return core.Errorf(core.CodeConflict, was.Idempotency, "the idempotency key %q was used for %s/%s: use another one", was.Idempotency, was.Class, was.Assignment)
}

// takesSubmission returns the assignment with the user's own deadlines, if it takes now what is
// submitted. It looks at nothing that takes long.
func (r *Service) takesSubmission(ctx context.Context, a core.Actor, as core.Assignment, h NewSubmission) (core.Assignment, error) {
	if _, err := r.Store.GetUser(ctx, h.User); err != nil {
		return core.Assignment{}, err
	}
	switch {
	case h.Kind != harness.TestPublic && h.Kind != harness.TestFinal:
		return core.Assignment{}, core.Errorf(core.CodeInvalid, as.Name(), "a submission is %s or %s, not %.40q", harness.TestPublic, harness.TestFinal, h.Kind)
	case h.Kind == harness.TestFinal && !as.AllowFinal:
		return core.Assignment{}, core.Errorf(core.CodeInvalid, as.Name(), "assignment %s takes no final submissions: submit it as %s", as.Name(), harness.TestPublic)
	case len(h.Idempotency) > maxIdempotency:
		return core.Assignment{}, core.Errorf(core.CodeLimit, as.Name(), "the idempotency key has %d bytes, at most %d are allowed", len(h.Idempotency), maxIdempotency)
	}
	d, err := r.deadline(ctx, as, h.User)
	if err != nil {
		return core.Assignment{}, err
	}
	as = as.For(d)
	return as, r.inTime(a, as)
}

// maxIdempotency leaves room in the request's key, which says what it is for.
const maxIdempotency = 100

// inTime returns ENDED if the actor may hand nothing in any more.
func (r *Service) inTime(a core.Actor, as core.Assignment) error {
	if as.Cutoff == 0 || r.now().UnixMilli() <= as.Cutoff {
		return nil
	}
	if core.Allow(a, core.ActSubmitFor, core.Object{Class: as.Class}) == nil {
		return nil
	}
	return core.Errorf(core.CodeEnded, as.Name(), "the cutoff date of %s has already passed (%s): ask who teaches it for more time", as.Name(), moment(as.Cutoff))
}

// take stores the files as they come.
func (r *Service) take(ctx context.Context, as core.Assignment, uploads iter.Seq2[Upload, error]) ([]core.File, error) {
	room, err := r.room(ctx, as)
	if err != nil {
		return nil, err
	}
	most := cmp.Or(as.MaxFiles, core.MaxFiles)
	var files []core.File
	for u, err := range uploads {
		switch {
		case err != nil:
			return nil, core.Wrap(err, codeOr(err, core.CodeInvalid), as.Name(), "what was submitted cannot be read")
		case len(files) == most:
			return nil, core.Errorf(core.CodeLimit, as.Name(), "%s takes at most %d files: pack them into an archive", as.Name(), most)
		case !fs.ValidPath(u.Path):
			return nil, core.Errorf(core.CodeInvalid, u.Path, "file path %.80q is not relative, clean and without ..", u.Path)
		}
		digest, size, err := r.Blobs.Put(ctx, u.Content, max(room, 1)) // an empty file needs no room
		if core.Is(err, core.CodeLimit) || err == nil && size > room {
			return nil, core.Errorf(core.CodeLimit, as.Name(), "the files have too many bytes together: %d are left for %.80q", room, u.Path)
		}
		if err != nil {
			return nil, core.Wrap(err, core.CodeOf(err), u.Path, "file %.80q cannot be stored", u.Path)
		}
		room -= size
		files = append(files, core.File{Path: u.Path, Digest: digest, Size: size, Mode: u.Mode})
	}
	if len(files) == 0 {
		return nil, core.Errorf(core.CodeInvalid, as.Name(), "no file was submitted: choose at least one")
	}
	return files, intake.CheckFiles(as.Name(), files)
}

// codeOr returns an error's own code, if somebody gave it one.
func codeOr(err error, otherwise core.Code) core.Code {
	if code := core.CodeOf(err); code != core.CodeInternal {
		return code
	}
	return otherwise
}

// maxUngraded bounds the bytes of a submission that no pool's disk bounds.
const maxUngraded = 256 << 20

// room is how many bytes a submission may have.
func (r *Service) room(ctx context.Context, as core.Assignment) (int64, error) {
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

// submitTo requests the grading of a submission and stores it.
func (r *Service) submitTo(ctx context.Context, as core.Assignment, s core.Submission) (core.Submission, error) {
	if as.Harness == nil {
		s.Late = late(as, s.At)
		return r.store(ctx, s)
	}
	spec, err := r.grading(ctx, as, s)
	if err != nil {
		return core.Submission{}, err
	}
	row, created, err := r.Intake.Submit(ctx, spec)
	if err != nil {
		return core.Submission{}, err
	}
	if !created {
		return r.goOn(ctx, as, s, row)
	}
	s.Request, s.At, s.Late = row.Spec.ID, row.Spec.Submitted, late(as, row.Spec.Submitted)
	stored, err := r.store(ctx, s)
	if err != nil || stored.ID != s.ID { // or its key is that of one that was not graded
		r.withdraw(ctx, s.ID)
	}
	return stored, err
}

func late(as core.Assignment, at int64) bool { return as.Due != 0 && at > as.Due }

// grading is the request that grades a submission.
func (r *Service) grading(ctx context.Context, as core.Assignment, s core.Submission) (core.Spec, error) {
	if _, err := bounds.Submission(s); err != nil {
		return core.Spec{}, err
	}
	notify, err := r.notified(ctx, as.Class, core.EventRequestEnded)
	if err != nil {
		return core.Spec{}, err
	}
	key := ""
	if s.Idempotency != "" {
		key = "submission/" + s.Idempotency
	}
	spec := harness.Grading(as, s)
	spec.ID, spec.Submitter, spec.Notify, spec.Supersede, spec.Idempotency = s.ID, s.User, notify, true, key
	return spec, nil
}

// goOn stores the submission of a request that an earlier call with the same
// idempotency key made, and may have died before it had stored it.
func (r *Service) goOn(ctx context.Context, as core.Assignment, s core.Submission, row core.Row) (core.Submission, error) {
	if row.Spec.Submission != row.Spec.ID || row.Spec.Assignment != as.Name() {
		return core.Submission{}, core.Errorf(core.CodeConflict, s.Idempotency, "the idempotency key %q was used for something else: use another one", s.Idempotency)
	}
	stored, err := r.Store.GetSubmission(ctx, row.Spec.ID)
	if !core.Is(err, core.CodeNotFound) {
		return stored, err
	}
	if row.State == core.RequestCancelled { // that call gave up
		if _, err := r.Intake.Rerun(ctx, row.Spec.ID); err != nil && !core.Is(err, core.CodeConflict) {
			return core.Submission{}, err
		}
	}
	s.ID, s.Request, s.Files = row.Spec.ID, row.Spec.ID, row.Spec.Files
	if in, err := harness.ParseInput(row.Spec.Input); err == nil {
		s.Kind = in.TestType
	}
	s.At, s.Late = row.Spec.Submitted, late(as, row.Spec.Submitted)
	return r.store(ctx, s)
}

// store makes a submission durable, or returns the one that was there.
func (r *Service) store(ctx context.Context, s core.Submission) (core.Submission, error) {
	stored, created, err := r.Store.CreateSubmission(ctx, s)
	if err == nil && !created {
		err = usedFor(&stored, s.Class, s.Assignment)
	}
	return stored, err
}

// withdraw cancels the request of a submission that could not be stored, unless it was after all.
func (r *Service) withdraw(ctx context.Context, id string) {
	ctx = context.WithoutCancel(ctx)
	if _, err := r.Store.GetSubmission(ctx, id); core.Is(err, core.CodeNotFound) {
		// The caller is told that it failed. A request that lives on is nobody's, and
		// goes with its assignment.
		_, _ = r.Intake.Cancel(ctx, id, core.System().Handle)
	}
}
