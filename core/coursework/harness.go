package coursework

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"drover/core"
	"drover/core/harness"
)

// SetHarness gives an assignment the harness whose folder is in a tar, as harness.Pack
// makes it. What was handed in before keeps the one that it was graded by. Returns
// NOTFOUND, FORBIDDEN, CONFLICT, INVALID, LIMIT.
func (r *Registrar) SetHarness(ctx context.Context, a core.Actor, class, handle string, tar io.Reader) (core.Assignment, error) {
	as, err := r.openAssignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return core.Assignment{}, err
	}
	if as.Pool == "" {
		return core.Assignment{}, core.Errorf(core.CodeInvalid, as.Name(), "assignment %s has no pool to be graded in: set one first", as.Name())
	}
	raw, err := io.ReadAll(io.LimitReader(tar, harness.MaxPackBytes+1))
	if err != nil {
		return core.Assignment{}, core.Wrap(err, core.CodeInvalid, as.Name(), "the harness cannot be read")
	}
	p, err := harness.Read(raw)
	if err != nil {
		return core.Assignment{}, err
	}
	text := fmt.Sprintf("sets the harness of %s, of %d bytes", as.Name(), len(raw))
	err = r.change(ctx, a, aboutAssignment(core.ActAssignmentEdit, as, text), func() error {
		digest, size, err := r.Blobs.Put(ctx, bytes.NewReader(p.Tar), harness.MaxPackBytes)
		if err != nil {
			return core.Wrap(err, core.CodeOf(err), as.Name(), "the harness of %s cannot be stored", as.Name())
		}
		file := core.File{Path: harness.TarFile, Digest: digest, Size: size}
		as.Harness = &core.Harness{File: file, Config: p.Config.Raw, Stock: p.Cases != nil}
		as.Revision, err = r.Store.PutAssignment(ctx, as)
		return err
	})
	return as, err
}

// RemoveHarness lets an assignment be handed in without being graded. Returns
// NOTFOUND, FORBIDDEN, CONFLICT.
func (r *Registrar) RemoveHarness(ctx context.Context, a core.Actor, class, handle string) (core.Assignment, error) {
	as, err := r.openAssignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil || as.Harness == nil {
		return as, err
	}
	as.Harness = nil
	return r.putAssignment(ctx, a, as, "removes the harness of "+as.Name())
}
