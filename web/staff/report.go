package staff

import (
	"cmp"
	"slices"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

func (s *staff) reportRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/assignments/{assignment}/report", Action: core.ActGradeView, Serve: s.report},
	}
}

// reportPage shows which tests of an assignment are flaky or slow.
type reportPage struct {
	*classes.AssignmentEntry
	classes.Report
	Flaky []classes.TestReport // the worst first
	Slow  []classes.TestReport // all tests, the slowest first
}

func (s *staff) report(r *page.Request) error {
	class, handle := r.PathValue("class"), r.PathValue("assignment")
	rep, err := s.Classes.Report(r.Context(), r.Actor(), class, handle)
	if err != nil {
		return err
	}
	as, err := s.Classes.ViewAssignment(r.Context(), r.Actor(), class, handle)
	if err != nil {
		return err
	}
	p := reportPage{AssignmentEntry: &as, Report: rep, Slow: rep.Tests}
	for _, t := range rep.Tests {
		if t.Flaky > 0 {
			p.Flaky = append(p.Flaky, t)
		}
	}
	slices.SortStableFunc(p.Flaky, func(x, y classes.TestReport) int { return cmp.Compare(y.Flaky*x.Repeated, x.Flaky*y.Repeated) })
	slices.SortStableFunc(p.Slow, func(x, y classes.TestReport) int { return cmp.Compare(y.P95, x.P95) })
	return r.Render("staff/report", p)
}
