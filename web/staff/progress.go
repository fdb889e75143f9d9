package staff

import (
	"net/url"
	"slices"

	"drover/core"
	"drover/core/classes"
	"drover/web/page"
)

func (s *staff) progressRoutes() []page.Route {
	return []page.Route{
		{Pattern: "GET /classes/{class}/assignments/{assignment}/progress", Action: core.ActGradeView, Serve: s.progress},
	}
}

// progressPage shows how far a class has come, and how its scores are spread.
type progressPage struct {
	*classes.AssignmentEntry
	classes.Progress
	Bars    []bar
	Missing []classes.Absence
	Next    string // URL of the next page of missing students
}

// missingRows is how many students without a submission a page lists.
const missingRows = 100

// bar is one part of the histogram. Its positions are in percent of the plot.
type bar struct {
	From, To         float64 // scores
	Count            int
	X, Width         int
	Y, Height, Label int
}

func (s *staff) progress(r *page.Request) error {
	class, handle := r.PathValue("class"), r.PathValue("assignment")
	p, err := s.Classes.Progress(r.Context(), r.Actor(), class, handle)
	if err != nil {
		return err
	}
	as, err := s.Classes.ViewAssignment(r.Context(), r.Actor(), class, handle)
	if err != nil {
		return err
	}
	shown := progressPage{AssignmentEntry: &as, Progress: p, Bars: bars(p.Distribution)}
	if shown.Missing, err = s.Classes.Missing(r.Context(), r.Actor(), class, handle, r.URL.Query().Get("after"), missingRows); err != nil {
		return err
	}
	if len(shown.Missing) == missingRows {
		shown.Next = "?" + url.Values{"after": {shown.Missing[missingRows-1].User}}.Encode() + "#missing"
	}
	return r.Render("staff/progress", shown)
}

// tallest is the height of the tallest bar; the rest is for its number.
const tallest = 85

func bars(d classes.Distribution) []bar {
	most := slices.Max(d.Counts[:])
	if d.Max <= 0 || most == 0 {
		return nil
	}
	const width = 100 / classes.Buckets
	all := make([]bar, len(d.Counts))
	for i, n := range d.Counts {
		height := n * tallest / most
		if n > 0 {
			height = max(height, 1)
		}
		all[i] = bar{
			From: d.Max * float64(i) / classes.Buckets, To: d.Max * float64(i+1) / classes.Buckets, Count: n,
			X: i * width, Width: width - 1, Y: 100 - height, Height: height, Label: 100 - height - 3,
		}
	}
	return all
}
