// Package looks has one page that shows the parts that the site's pages are made of: type, colours, and components in
// each of their states. Who changes a sheet or a part looks there first; it is tested in light, dark and each language.
package looks

import (
	"embed"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/web/page"
)

//go:embed pages/*.html
var files embed.FS

// Section returns the page /looks, for each user.
func Section(now func() time.Time) page.Section {
	if now == nil {
		now = time.Now
	}
	return page.Section{Name: "looks", Pages: files, Routes: []page.Route{{
		Pattern: "GET /looks",
		Serve:   func(r *page.Request) error { return r.Render("looks/looks", sample(now())) },
	}}}
}

// looks is what the page shows.
type looks struct {
	Now       int64 // ms
	Grounds   []string
	Texts     []string
	Types     []string
	Corners   []string
	Badges    []string
	Standings []school.Standing // one of each outcome, with points that fit it
}

// sample returns something of everything.
func sample(now time.Time) looks {
	l := looks{
		Now:     now.UnixMilli(),
		Grounds: []string{"paper", "card", "sunk", "good-bg", "warn-bg", "bad-bg", "calm-bg"},
		Texts:   []string{"ink", "soft", "brand", "good", "warn", "bad", "calm"},
		Types:   []string{"title", "head", "lead", "text", "small", "tiny"},
		Corners: []string{"edge", "round", "rounder", "pill"},
		Badges:  []string{"", "good", "warn", "bad", "calm"},
	}
	points := map[core.ResultOutcome]float64{core.ResultFull: 10, core.ResultPartial: 6.5, core.ResultFailed: 0}
	for _, o := range core.ResultOutcomes() {
		s := school.Standing{Outcome: o}
		if score, has := points[o]; has {
			highest := 10.0
			s.Score, s.MaxScore = &score, &highest
		}
		l.Standings = append(l.Standings, s)
	}
	return l
}
