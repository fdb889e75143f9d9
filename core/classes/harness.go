package classes

import (
	"context"
	"fmt"
	"io"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

// SetHarness sets an assignment's harness from an archive of its folder, in a form that harness.Read accepts. Earlier
// submissions keep the harness that graded them. Returns NOTFOUND, FORBIDDEN, CONFLICT, INVALID, LIMIT.
func (r *Service) SetHarness(ctx context.Context, a core.Actor, class, handle string, tar io.Reader) (school.Assignment, error) {
	as, err := r.openAssignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return school.Assignment{}, err
	}
	p, err := unpackFor(as, tar)
	if err != nil {
		return school.Assignment{}, err
	}
	text := fmt.Sprintf("sets the harness of %s, of %d bytes", as.Name(), p.Size())
	return r.putHarness(ctx, a, as, p, text)
}

// putHarness makes a harness an assignment's; the text says so in the audit log.
func (r *Service) putHarness(ctx context.Context, a core.Actor, as school.Assignment, p harness.Package, text string) (school.Assignment, error) {
	err := r.change(ctx, a, aboutAssignment(core.ActAssignmentEdit, as, text), func() (err error) {
		if as.Harness, err = r.keepHarness(ctx, as, p); err != nil {
			return err
		}
		as.Revision, err = r.Store.PutAssignment(ctx, as)
		return err
	})
	return as, err
}

func unpooled(as school.Assignment) error {
	return core.Errorf(core.CodeInvalid, as.Name(), "assignment %s has no pool to be graded in: set one first", as.Name())
}

// unpack reads a harness for an assignment and validates all of it.
// unpackFor reads a harness that is to grade an assignment.
func unpackFor(as school.Assignment, tar io.Reader) (harness.Package, error) {
	if as.Pool == "" {
		return harness.Package{}, unpooled(as)
	}
	return harness.Read(tar)
}

// keepHarness stores the files of a harness.
func (r *Service) keepHarness(ctx context.Context, as school.Assignment, p harness.Package) (*school.Harness, error) {
	digest, size, err := r.Blobs.Put(ctx, p.Tar(), harness.MaxPackBytes)
	if err != nil {
		return nil, core.Wrap(err, core.CodeOf(err), as.Name(), "the harness of %s cannot be stored", as.Name())
	}
	shown, err := r.keepHandout(ctx, as, p.Folder)
	if err != nil {
		return nil, err
	}
	file := core.File{Path: harness.TarFile, Digest: digest, Size: size}
	is := recordOf(file, p)
	is.Handout = shown
	return is, nil
}

// recordOf is a harness as an assignment has it, without its handout.
func recordOf(file core.File, p harness.Package) *school.Harness {
	return &school.Harness{File: file, Config: p.Config.Raw, Stock: p.Cases != nil, Finals: p.Cases != nil && p.Cases.HasFinal(), Problem: p.Problem}
}

// RemoveHarness makes submissions to an assignment ungraded. Returns NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Service) RemoveHarness(ctx context.Context, a core.Actor, class, handle string) (school.Assignment, error) {
	as, err := r.openAssignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil || as.Harness == nil {
		return as, err
	}
	as.Harness = nil
	return r.putAssignment(ctx, a, as, "removes the harness of "+as.Name())
}
