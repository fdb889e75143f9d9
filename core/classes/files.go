package classes

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"drover/core"
	"drover/core/school"
)

// Files are the files of a submission, to be read one by one.
type Files struct {
	Submission school.Submission
	Title      string // of the assignment
	from       core.Blobs
}

// OpenFiles returns the files of a submission. Returns NOTFOUND.
func (r *Service) OpenFiles(ctx context.Context, a core.Actor, id string) (*Files, error) {
	s, as, err := r.submission(ctx, a, id, core.ActSubmissionView)
	if err != nil {
		return nil, err
	}
	return &Files{s, as.Title, r.Blobs}, nil
}

// Open opens one of the files. Returns NOTFOUND.
func (f *Files) Open(ctx context.Context, name string) (core.File, io.ReadCloser, error) {
	all := f.Submission.Files
	i := slices.IndexFunc(all, func(one core.File) bool { return one.Path == name })
	if i < 0 {
		return core.File{}, nil, core.Errorf(core.CodeNotFound, f.Submission.ID, "submission %s has no file %.80q", f.Submission.ID, name)
	}
	content, err := f.from.Open(ctx, all[i].Digest)
	return all[i], content, err
}

// First returns the path of the file that a reader wants first: the first one that is likely to be source, else the
// first one; "" if there are none.
func (f *Files) First() string {
	all := f.Submission.Files
	for _, one := range all {
		switch strings.ToLower(path.Ext(one.Path)) {
		case "", ".txt", ".md", ".json", ".yaml", ".yml", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".csv", ".log":
		default:
			return one.Path
		}
	}
	if len(all) == 0 {
		return ""
	}
	return all[0].Path
}
