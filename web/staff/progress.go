package staff

import (
	"slices"

	"drover/core"
	"drover/core/coursework"
	"drover/web/page"
)

func (s *staff) progressRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/assignments/{assignment}/progress", Action: core.ActGradeView, Serve: s.progress},
	}
}

// progressPage says how far a class is, and how its scores are spread.
type progressPage struct {
	*coursework.AssignmentEntry
	coursework.Progress
	Bars []bar
}

// bar is one part of the histogram. Its places are percent of the plot's.
type bar struct {
	From, To         float64 // scores
	Count            int
	X, Width         int
	Y, Height, Label int
}

func (s *staff) progress(r *page.Request) error {
	class, handle := r.PathValue("class"), r.PathValue("assignment")
	p, err := s.Registrar.Progress(r.Context(), r.Actor(), class, handle)
	if err != nil {
		return err
	}
	as, err := s.Registrar.ViewAssignment(r.Context(), r.Actor(), class, handle)
	if err != nil {
		return err
	}
	return r.Render("staff/progress", progressPage{AssignmentEntry: &as, Progress: p, Bars: bars(p.Distribution)})
}

// tallest is the height of the tallest bar: the rest is its number's.
const tallest = 85

func bars(d coursework.Distribution) []bar {
	most := slices.Max(d.Counts[:])
	if d.Max <= 0 || most == 0 {
		return nil
	}
	const width = 100 / coursework.Buckets
	all := make([]bar, len(d.Counts))
	for i, n := range d.Counts {
		height := n * tallest / most
		if n > 0 {
			height = max(height, 1)
		}
		all[i] = bar{
			From: d.Max * float64(i) / coursework.Buckets, To: d.Max * float64(i+1) / coursework.Buckets, Count: n,
			X: i * width, Width: width - 1, Y: 100 - height, Height: height, Label: 100 - height - 3,
		}
	}
	return all
}
