package classes

import (
	"context"
	"fmt"
	"strings"

	"drover/core"
	"drover/core/school"
)

// Mine stands for the classes that the actor is in, in a query of Find.
const Mine = "mine"

// maxCandidates is how many possible meanings of a query an error lists.
const maxCandidates = 20

// FindClass returns the one class that the actor may view and whose handle or title equals the query, or else
// contains it, ignoring case. Mine stands for the one class that the actor is in. Returns NOTFOUND, and INVALID with
// the candidates if there are several.
func (r *Service) FindClass(ctx context.Context, a core.Actor, query string) (school.Class, error) {
	found, err := r.matchClasses(ctx, a, query)
	if err != nil {
		return school.Class{}, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, c := range found {
		names[i] = c.Handle
	}
	return school.Class{}, notOne("class", query, names)
}

// FindAssignment returns the one assignment that the actor may view and that matches the query class/assignment, both
// parts as in FindClass. Returns NOTFOUND, and INVALID with the candidates if there are several. The harness is
// returned to staff only.
func (r *Service) FindAssignment(ctx context.Context, a core.Actor, query string) (school.Assignment, error) {
	class, part, ok := strings.Cut(query, "/")
	if !ok {
		return school.Assignment{}, core.Errorf(core.CodeInvalid, query, "%.80q names no assignment: write class/assignment, or %s/assignment for one of your own classes", query, Mine)
	}
	classes, err := r.matchClasses(ctx, a, class)
	if err != nil {
		return school.Assignment{}, err
	}
	var all []school.Assignment
	for _, c := range classes {
		in, err := r.visible(ctx, a, c.Handle)
		if err != nil {
			return school.Assignment{}, err
		}
		all = append(all, in...)
	}
	found := matching(all, part, func(as school.Assignment) (string, string) { return as.Handle, as.Title })
	if len(found) == 1 {
		return withoutSecrets(a, found[0]), nil
	}
	names := make([]string, len(found))
	for i := range found {
		names[i] = found[i].Name()
	}
	return school.Assignment{}, notOne("assignment", query, names)
}

func (r *Service) matchClasses(ctx context.Context, a core.Actor, query string) ([]school.Class, error) {
	var all []school.Class
	err := r.eachClass(ctx, a, func(c school.Class) {
		if query != Mine || a.In[c.Handle] != "" {
			all = append(all, c)
		}
	})
	if query == Mine {
		return all, err
	}
	return matching(all, query, func(c school.Class) (string, string) { return c.Handle, c.Title }), err
}

// eachClass calls fn with every class that the actor may view, in order of handle.
func (r *Service) eachClass(ctx context.Context, a core.Actor, fn func(school.Class)) error {
	for after := ""; ; {
		some, err := r.ListClasses(ctx, a, after, page)
		if err != nil {
			return err
		}
		for _, c := range some {
			fn(c.Class)
			after = c.Handle
		}
		if len(some) < page {
			return nil
		}
	}
}

// visible lists the assignments of a class that the actor may view, in order of handle.
func (r *Service) visible(ctx context.Context, a core.Actor, class string) ([]school.Assignment, error) {
	var all []school.Assignment
	for after := ""; ; {
		some, err := r.Store.ListAssignments(ctx, class, after, page)
		if err != nil {
			return nil, err
		}
		for _, as := range some {
			if r.seesAssignment(a, as) {
				all = append(all, as)
			}
			after = as.Handle
		}
		if len(some) < page {
			return all, nil
		}
	}
}

// matching returns the items that equal the query, or else those that contain it.
func matching[T any](all []T, query string, names func(T) (handle, title string)) []T {
	query = strings.ToLower(strings.TrimSpace(query))
	var exact, part []T
	for _, one := range all {
		handle, title := names(one)
		title = strings.ToLower(title)
		switch {
		case handle == query || title == query:
			exact = append(exact, one)
		case strings.Contains(handle, query) || strings.Contains(title, query):
			part = append(part, one)
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return part
}

func notOne(what, query string, names []string) error {
	if len(names) == 0 {
		return core.Errorf(core.CodeNotFound, query, "there is no %s %.160q", what, query)
	}
	more := ""
	if n := len(names) - maxCandidates; n > 0 {
		names, more = names[:maxCandidates], fmt.Sprintf(" and %d more", n)
	}
	return core.Errorf(core.CodeInvalid, query, "%.160q could be more than one %s: say which of %s%s", query, what, strings.Join(names, ", "), more)
}
