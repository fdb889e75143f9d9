package api

import (
	"context"
	"maps"
	"slices"

	"drover/core"
	"drover/core/harness/handout"
	"drover/core/school"
)

func handoutTable() []entry {
	const of = "/classes/{class}/assignments/{assignment}/handout"
	return []entry{
		is(Operation{"viewHandout", get, of, core.ActAssignmentView, school.ScopeRead, 0, "Return the statements, samples and attachments of an assignment, and list their files"}, (*server).viewHandout),
		is(Operation{"downloadHandoutFile", get, of + "/{path}", core.ActAssignmentView, school.ScopeRead, 0, "Download a file of an assignment's statements, samples and attachments"}, (*server).handoutFile),
	}
}

// Handout is what an assignment has for students.
type Handout struct {
	handout.Page
	Files []HandoutFile `json:"files" doc:"all files, in order of path"`
}

// HandoutFile is a file of a handout.
type HandoutFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
}

func (s *server) viewHandout(ctx context.Context, a core.Actor, in *InAssignment) (*answer[Handout], error) {
	page, sizes, err := s.Classes.ViewHandout(ctx, a, in.Class, in.Assignment)
	if err != nil {
		return nil, err
	}
	h := Handout{Files: []HandoutFile{}}
	if page != nil {
		h.Page = *page
	}
	for _, path := range slices.Sorted(maps.Keys(sizes)) {
		h.Files = append(h.Files, HandoutFile{path, sizes[path]})
	}
	return &answer[Handout]{h}, nil
}

func (s *server) handoutFile(ctx context.Context, a core.Actor, in *struct {
	InAssignment
	Path string `path:"path" doc:"path of the file; may contain slashes"`
},
) (*download, error) {
	file, content, err := s.Classes.OpenHandout(ctx, a, in.Class, in.Assignment, in.Path)
	if err != nil {
		return nil, err
	}
	return s.saved(ctx, "downloadHandoutFile", file.Path, file.Size, copied(content)), nil
}
