package classes

import (
	"context"
	"fmt"
	"io"

	"drover/core"
	"drover/core/harness"
	"drover/core/harness/cases"
	"drover/core/school"
)

// HarnessView is a harness as its author sees it.
type HarnessView struct {
	Assignment school.Assignment
	Harness    *school.Harness // nil if there is none
	Package    harness.Package
	Files      []harness.File
	Cases      string      // the text of its cases.yaml; "" if it has none
	Limits     core.Limits // within which it grades
	Warnings   []harness.Warning
}

// Digest returns the digest of the harness; "" if there is none.
func (v *HarnessView) Digest() string { return digestOf(v.Harness) }

func digestOf(h *school.Harness) string {
	if h == nil {
		return ""
	}
	return h.File.Digest
}

// ViewHarness returns the harness of an assignment, with warnings. Returns NOTFOUND, FORBIDDEN.
func (r *Service) ViewHarness(ctx context.Context, a core.Actor, class, handle string) (HarnessView, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return HarnessView{}, err
	}
	p, err := r.readHarness(ctx, as)
	if err != nil {
		return HarnessView{}, err
	}
	return r.viewHarness(ctx, as, as.Harness, p)
}

// readHarness reads the harness of an assignment; the zero value if it has none.
func (r *Service) readHarness(ctx context.Context, as school.Assignment) (harness.Package, error) {
	if as.Harness == nil {
		return harness.Package{}, nil
	}
	return r.openHarness(ctx, as, as.Harness.File.Digest)
}

func (r *Service) openHarness(ctx context.Context, as school.Assignment, digest string) (harness.Package, error) {
	tar, err := r.Blobs.Open(ctx, digest)
	if err != nil {
		return harness.Package{}, core.Wrap(err, core.CodeOf(err), as.Name(), "the harness of %s cannot be opened", as.Name())
	}
	defer tar.Close() //nolint:errcheck // only read from
	return harness.Read(tar)
}

func (r *Service) viewHarness(ctx context.Context, as school.Assignment, h *school.Harness, p harness.Package) (HarnessView, error) {
	v := HarnessView{Assignment: as, Harness: h, Package: p, Limits: as.Limits}
	if p.Folder == nil {
		return v, nil
	}
	var err error
	if v.Files, v.Cases, err = p.Files(); err != nil {
		return v, err
	}
	peer := true // perhaps: the pool is chosen with each submission
	if as.Pool != "" {
		pool, err := r.pool(ctx, as.Pool)
		if err != nil && !core.Is(err, core.CodeNotFound) {
			return v, err
		}
		v.Limits, peer = as.Limits.Or(pool.Limits), pool.Peer
	}
	v.Warnings = p.Warnings(v.Limits, peer)
	return v, nil
}

// StageHarness checks a harness and keeps its files for a while; the assignment's stays. Its digest is for
// ViewStagedHarness. Returns as SetHarness.
func (r *Service) StageHarness(ctx context.Context, a core.Actor, class, handle string, tar io.Reader) (HarnessView, error) {
	as, err := r.openAssignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return HarnessView{}, err
	}
	p, err := harness.Read(tar)
	if err != nil {
		return HarnessView{}, err
	}
	h, err := r.keepHarness(ctx, as, p)
	if err != nil {
		return HarnessView{}, err
	}
	return r.viewHarness(ctx, as, h, p)
}

// ViewStagedHarness returns a harness that StageHarness kept. A caller must keep the digest where no user changes it:
// it opens any harness. Returns NOTFOUND, also once the files are purged; FORBIDDEN.
func (r *Service) ViewStagedHarness(ctx context.Context, a core.Actor, class, handle, digest string) (HarnessView, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return HarnessView{}, err
	}
	p, err := r.openHarness(ctx, as, digest)
	if err != nil {
		return HarnessView{}, err
	}
	file := core.File{Path: harness.TarFile, Digest: digest, Size: p.Size()}
	return r.viewHarness(ctx, as, recordOf(file, p), p)
}

// CasesEdit is another text for the cases.yaml of a harness.
type CasesEdit struct {
	Was  string // the digest of the harness that was edited; "" if there was none
	Text string
}

// DraftCases returns an assignment's harness with another cases.yaml, and changes nothing. Returns NOTFOUND,
// FORBIDDEN, INVALID with the line, LIMIT, and CONFLICT if the assignment has another harness by now.
func (r *Service) DraftCases(ctx context.Context, a core.Actor, class, handle string, e CasesEdit) (HarnessView, error) {
	as, p, err := r.editCases(ctx, a, class, handle, e)
	if err != nil {
		return HarnessView{}, err
	}
	return r.viewHarness(ctx, as, as.Harness, p)
}

// SaveCases makes an assignment's harness with another cases.yaml its harness. No other file of it changes. Returns as
// DraftCases.
func (r *Service) SaveCases(ctx context.Context, a core.Actor, class, handle string, e CasesEdit) (school.Assignment, error) {
	as, p, err := r.editCases(ctx, a, class, handle, e)
	if err != nil {
		return school.Assignment{}, err
	}
	if as.Pool == "" {
		return school.Assignment{}, unpooled(as)
	}
	text := fmt.Sprintf("changes %s of the harness of %s, which had the digest %s", cases.File, as.Name(), e.Was)
	return r.putHarness(ctx, a, as, p, text)
}

func (r *Service) editCases(ctx context.Context, a core.Actor, class, handle string, e CasesEdit) (school.Assignment, harness.Package, error) {
	as, err := r.openAssignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return as, harness.Package{}, err
	}
	if digestOf(as.Harness) != e.Was {
		return as, harness.Package{}, core.Errorf(core.CodeConflict, as.Name(), "the harness of %s was changed since you began: compare yours with it", as.Name())
	}
	p, err := r.readHarness(ctx, as)
	if err != nil {
		return as, harness.Package{}, err
	}
	p, err = p.WithFile(cases.File, []byte(e.Text))
	return as, p, err
}

// OpenHarness opens a file of an assignment's harness, or its folder as a tar for an empty path. Returns NOTFOUND,
// FORBIDDEN.
func (r *Service) OpenHarness(ctx context.Context, a core.Actor, class, handle, path string) (io.Reader, int64, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentEdit, "")
	if err != nil {
		return nil, 0, err
	}
	if as.Harness == nil {
		return nil, 0, core.Errorf(core.CodeNotFound, as.Name(), "assignment %s has no harness", as.Name())
	}
	p, err := r.readHarness(ctx, as)
	if err != nil || path == "" {
		return p.Tar(), p.Size(), err
	}
	return p.Folder.Open(path)
}
