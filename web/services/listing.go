package services

import (
	"context"
	"net/url"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// FromKey is the part of a submission's URL that has the query of the list from which the reader came.
const FromKey = "from"

// StudentFilter reads the filter and the order of a list of students from its query.
func StudentFilter(q url.Values) classes.StudentFilter {
	return classes.StudentFilter{
		Name: q.Get("q"), Section: q.Get("section"), Outcome: core.ResultOutcome(q.Get("outcome")), Only: q.Get("only"), Sort: q.Get("sort"),
	}
}

// StudentQuery is the query of StudentFilter, without what is empty.
func StudentQuery(f classes.StudentFilter) url.Values {
	q := url.Values{}
	for key, value := range map[string]string{"q": f.Name, "section": f.Section, "outcome": string(f.Outcome), "only": f.Only, "sort": f.Sort} {
		if value != "" {
			q.Set(key, value)
		}
	}
	return q
}

// Walk is where a submission is in the list from which its reader came.
type Walk struct {
	classes.Walk
	List string // the path of the list
	From string // its query
}

// WalkOf returns nil for a reader who came from no list, or may not see it.
func (d *Deps) WalkOf(ctx context.Context, a core.Actor, q url.Values, s school.Submission) (*Walk, error) {
	from := q.Get(FromKey)
	if !q.Has(FromKey) || core.Allow(a, core.ActGradeView, core.Object{Class: s.Class}) != nil {
		return nil, nil //nolint:nilnil,nilerr // no list is no fault
	}
	read, err := url.ParseQuery(from)
	f := StudentFilter(read)
	if err != nil || f.Check() != nil {
		return nil, nil //nolint:nilnil,nilerr // the same
	}
	all, err := d.Classes.Standings(ctx, a, s.Class, s.Assignment)
	if err != nil {
		return nil, err
	}
	w := &Walk{Walk: classes.WalkFrom(f.Select(all), s.User), From: StudentQuery(f).Encode()}
	w.List = "/classes/" + url.PathEscape(s.Class) + "/assignments/" + url.PathEscape(s.Assignment) + "/submissions"
	if w.From != "" {
		w.List += "?" + w.From
	}
	return w, nil
}
