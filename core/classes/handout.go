package classes

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"drover/core"
	"drover/core/harness/cases"
	"drover/core/harness/handout"
	"drover/core/school"
)

// keepHandout stores what students may see of a packed harness; nil if it has nothing of the kind.
func (r *Service) keepHandout(ctx context.Context, as school.Assignment, folder *cases.Archive) ([]core.File, error) {
	page, files, err := handout.Read(folder)
	if err != nil || page == nil {
		return nil, err
	}
	raw, err := json.Marshal(page)
	if err != nil {
		return nil, err
	}
	var all []core.File
	for _, f := range slices.Concat([]handout.File{{Path: handout.PageFile, Content: raw}}, files) {
		digest, size, err := r.Blobs.Put(ctx, bytes.NewReader(f.Content), handout.MaxBytes)
		if err != nil {
			return nil, core.Wrap(err, core.CodeOf(err), as.Name(), "the handout of %s cannot be stored", as.Name())
		}
		all = append(all, core.File{Path: f.Path, Digest: digest, Size: size})
	}
	return all, nil
}

// ViewHandout returns the statements, samples and attachments of an assignment, which are in the folder handout of its
// harness, and the sizes of the files by path; nil if there are none. Returns NOTFOUND, as ViewAssignment does.
func (r *Service) ViewHandout(ctx context.Context, a core.Actor, class, handle string) (*handout.Page, map[string]int64, error) {
	all, err := r.handout(ctx, a, class, handle)
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	in, err := r.Blobs.Open(ctx, all[0].Digest)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(in, handout.MaxPage))
	if err != nil {
		return nil, nil, core.Wrap(err, core.CodeUnavailable, handle, "the handout of %s/%s cannot be read", class, handle)
	}
	var page handout.Page
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, nil, core.Wrap(err, core.CodeInternal, handle, "the handout of %s/%s is damaged", class, handle)
	}
	sizes := make(map[string]int64, len(all))
	for _, f := range all[1:] {
		sizes[f.Path] = f.Size
	}
	return &page, sizes, nil
}

// OpenHandout opens a file of an assignment's handout. Returns NOTFOUND, as ViewAssignment does.
func (r *Service) OpenHandout(ctx context.Context, a core.Actor, class, handle, path string) (core.File, io.ReadCloser, error) {
	all, err := r.handout(ctx, a, class, handle)
	if err != nil {
		return core.File{}, nil, err
	}
	i := slices.IndexFunc(all, func(f core.File) bool { return f.Path == path && path != handout.PageFile })
	if i < 0 {
		return core.File{}, nil, core.Errorf(core.CodeNotFound, path, "assignment %s/%s has no file %.80q for students", class, handle, path)
	}
	content, err := r.Blobs.Open(ctx, all[i].Digest)
	return all[i], content, err
}

// ZipSamples returns the samples of an assignment's handout as a zip. Returns NOTFOUND, as ViewAssignment does, and if it
// has none.
func (r *Service) ZipSamples(ctx context.Context, a core.Actor, class, handle string) (*Zip, error) {
	all, err := r.handout(ctx, a, class, handle)
	if err != nil {
		return nil, err
	}
	z := &Zip{Name: class + "-" + handle + "-samples.zip", at: r.now().UTC(), from: r.Blobs}
	for _, f := range all {
		if rest, is := strings.CutPrefix(f.Path, handout.Samples+"/"); is {
			f.Path = rest
			z.of = append(z.of, f)
		}
	}
	if len(z.of) == 0 {
		return nil, core.Errorf(core.CodeNotFound, handle, "assignment %s/%s has no samples", class, handle)
	}
	return z, nil
}

// handout lists the files of an assignment's handout, its page first.
func (r *Service) handout(ctx context.Context, a core.Actor, class, handle string) ([]core.File, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentView, "")
	if err != nil || as.Harness == nil {
		return nil, err
	}
	return as.Harness.Handout, nil
}
