package classes

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/harness/languages"
)

// Languages lists the languages of the VMs that grade an assignment, with their versions: none if their image does not
// say, and only those of required files if the assignment has some. Returns NOTFOUND, as ViewAssignment does.
func (r *Service) Languages(ctx context.Context, a core.Actor, class, handle string) ([]core.ImageLanguage, error) {
	as, err := r.assignment(ctx, a, class, handle, core.ActAssignmentView, "")
	if err != nil {
		return nil, err
	}
	p, err := r.pool(ctx, as.Pool)
	switch {
	case core.CodeOf(err) == core.CodeNotFound, err == nil && p.Image == "":
		return nil, nil
	case err != nil:
		return nil, err
	}
	image, err := r.Store.GetImage(ctx, p.Image)
	if core.CodeOf(err) == core.CodeNotFound {
		return nil, nil
	}
	if len(as.Required) == 0 {
		return image.Languages, err
	}
	of := map[string]bool{}
	for _, file := range as.Required {
		if l, ok := languages.Of([]string{file}); ok {
			of[l.Code] = true
		}
	}
	return slices.DeleteFunc(image.Languages, func(l core.ImageLanguage) bool { return !of[l.Code] }), err
}
