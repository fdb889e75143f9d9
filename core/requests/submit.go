package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"drover/core"
	"drover/core/harness"
	"drover/core/requests/intake"
)

// Draft is what a user wants to run: a plain command, or, if one of the files is a harness, a grading of the other
// files.
type Draft struct {
	Submitter   string // on whose behalf; "" is the actor
	Type        string // of job, which says what the rest leaves out; "" is none
	Pool        string
	Priority    core.Priority // "" is normal
	Command     []string
	Env         []string        // NAME=value
	Input       json.RawMessage // of a harness; nil is the input in the harness's own settings
	Collect     []string
	Files       iter.Seq2[intake.Upload, error] // nil for none
	Assignment  string                          // requests with this label supersede one another
	Supersede   bool
	Notify      []string
	Idempotency string // the same key of the same submitter again is the same request; "" is none
	OnHostLoss  string
	Limits      core.Limits
}

// Submit requests a run. If the submitter used the same idempotency key before, it returns the earlier request and
// false. Files are read only after the rights and the rest of the draft are checked. Returns FORBIDDEN, INVALID,
// LIMIT, NOTFOUND for a pool or webhook, FULL if too much work is waiting, UNAVAILABLE.
func (d *Service) Submit(ctx context.Context, a core.Actor, draft Draft) (v View, created bool, err error) {
	spec, err := d.draft(a, draft)
	if err != nil {
		return View{}, false, err
	}
	row, was, err := d.Intake.Accepted(ctx, spec.Submitter, spec.Idempotency)
	if err != nil {
		return View{}, false, err
	}
	if was {
		v = viewOf(row)
		conceal(a, &row.Spec, &v)
		return v, false, nil
	}
	if spec, err = d.typed(ctx, spec); err != nil {
		return View{}, false, err
	}
	checked, err := d.check(ctx, spec)
	if err != nil {
		return View{}, false, err
	}
	do := func() error {
		if err := d.take(ctx, &spec, draft.Files, roomIn(a, checked.Limits.Disk)); err != nil {
			return err
		}
		row, created, err = d.Intake.Submit(ctx, spec)
		return err
	}
	if spec.Submitter == a.Handle {
		err = do()
	} else {
		err = d.change(ctx, a, core.ActRequestCreate, spec.Submitter, fmt.Sprintf("requests a run for %s in pool %s", spec.Submitter, spec.Pool), do)
	}
	if err != nil {
		return View{}, false, err
	}
	v = viewOf(row)
	conceal(a, &row.Spec, &v)
	return v, created, nil
}

// draft returns the spec without files, if the actor may submit it. Its type is not looked at yet.
func (d *Service) draft(a core.Actor, draft Draft) (core.Spec, error) {
	s := core.Spec{
		Submitter: cmp.Or(draft.Submitter, a.Handle), Type: draft.Type, Pool: draft.Pool, Priority: draft.Priority, Command: draft.Command, Env: draft.Env,
		Input: draft.Input, Collect: draft.Collect, Assignment: draft.Assignment, Supersede: draft.Supersede, Notify: draft.Notify,
		OnHostLoss: draft.OnHostLoss, Limits: draft.Limits,
	}
	if err := core.Allow(a, core.ActRequestCreate, core.Object{}); err != nil {
		return s, err
	}
	// Only operators may run requests with high priority or in another's name, or have addresses called. A type gives
	// no priority above its own, which an operator has set.
	if s.Submitter != a.Handle || s.Priority == core.PriorityHigh && s.Type == "" || len(s.Notify) > 0 {
		if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
			return s, err
		}
	}
	if len(draft.Idempotency) > intake.MaxIdempotency {
		return s, core.Errorf(core.CodeLimit, "", "the idempotency key has %d bytes, at most %d are allowed", len(draft.Idempotency), intake.MaxIdempotency)
	}
	if draft.Idempotency != "" {
		s.Idempotency = "request/" + draft.Idempotency // distinct from the keys of submissions
	}
	return s, nil
}

// check validates a draft before any of its files is read.
func (d *Service) check(ctx context.Context, s core.Spec) (core.Spec, error) {
	if len(s.Command) == 0 && s.Harness == nil {
		s.Command, s.Input = []string{"true"}, nil // whether there is a harness is not known yet
	}
	return d.Intake.Check(ctx, s)
}

// room is how many bytes the files of a request may have.
type room struct {
	files int64 // together, as the VM has room for them
	tests int64 // a harness with tests and no program, of which VMs get a test at a time; 0: it is one of the files
}

// roomIn is the room in VMs with so much of it. Operators may send tests that are larger.
func roomIn(a core.Actor, disk int64) room {
	if core.Allow(a, core.ActClusterOperate, core.Object{}) == nil {
		return room{disk, harness.MaxPackBytes}
	}
	return room{files: disk}
}

// take stores the files as they arrive.
func (d *Service) take(ctx context.Context, s *core.Spec, uploads iter.Seq2[intake.Upload, error], r room) error {
	if uploads == nil {
		return nil
	}
	for u, err := range uploads {
		if err != nil {
			return core.Wrap(err, core.CodeOr(err, core.CodeInvalid), "", "the files of the request cannot be read")
		}
		f, err := d.keep(ctx, s, u, r)
		if err != nil {
			return err
		}
		if u.Part != intake.PartHarness || r.tests == 0 {
			r.files -= f.Size
		}
	}
	return nil
}

// keep stores one file and adds it to the spec.
func (d *Service) keep(ctx context.Context, s *core.Spec, u intake.Upload, r room) (core.File, error) {
	switch u.Part {
	case intake.PartFile:
		if len(s.Files) == core.MaxFiles {
			return core.File{}, core.Errorf(core.CodeLimit, "", "a request takes at most %d files: pack them into an archive", core.MaxFiles)
		}
		if !fs.ValidPath(u.Path) || u.Path == "." {
			return core.File{}, core.Errorf(core.CodeInvalid, u.Path, "file path %.80q is not relative, clean and without ..", u.Path)
		}
		f, err := u.Keep(ctx, d.Blobs, r.files)
		s.Files = append(s.Files, f)
		return f, err
	case intake.PartStdin:
		if s.Stdin != nil {
			return core.File{}, core.Errorf(core.CodeInvalid, "", "a request has one standard input, not several")
		}
		f, err := intake.Upload{Path: string(u.Part), Content: u.Content}.Keep(ctx, d.Blobs, r.files)
		s.Stdin = &f
		return f, err
	case intake.PartHarness:
		return d.keepHarness(ctx, s, u.Content, r)
	}
	return core.File{}, core.Errorf(core.CodeInvalid, string(u.Part), "a part of a request is a file, %s or %s, not %.40q", intake.PartStdin, intake.PartHarness, u.Part)
}

// keepHarness checks a whole harness before storing it.
func (d *Service) keepHarness(ctx context.Context, s *core.Spec, tar io.Reader, r room) (core.File, error) {
	if s.Harness != nil {
		return core.File{}, core.Errorf(core.CodeInvalid, "", "a request has one harness, not several")
	}
	most := max(r.files, r.tests)
	bounded := &io.LimitedReader{R: tar, N: most + 1}
	p, err := harness.Read(bounded)
	if err == nil && p.Cases == nil {
		most = r.files
	}
	if bounded.N == 0 || err == nil && p.Size() > most {
		return core.File{}, core.Errorf(core.CodeLimit, harness.TarFile, "the files have too many bytes together: %d are left for the harness", most)
	}
	if err != nil {
		return core.File{}, err
	}
	f, err := intake.Upload{Path: harness.TarFile, Content: p.Tar()}.Keep(ctx, d.Blobs, most)
	if err != nil {
		return f, err
	}
	s.Harness = &f
	if s.Input == nil {
		s.Input = harness.NewInput(p.Config, harness.TestPublic)
	}
	return f, nil
}
