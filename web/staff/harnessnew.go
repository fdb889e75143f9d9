package staff

import (
	"cmp"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/harness/cases"
	"drover/web/page"
)

// stagedKey names the checked harness in a session: the assignment and the digest.
const stagedKey = "harness"

// stage checks a harness and keeps it for the reader, who decides on the next page what becomes of it.
func (s *staff) stage(r *page.Request, class, assignment string, packed *harness.Package) (classes.HarnessView, error) {
	v, err := s.Classes.StageHarness(r.Context(), r.Actor(), class, assignment, packed.Tar())
	if err == nil {
		r.Keep(stagedKey, class+"/"+assignment+" "+v.Digest())
	}
	return v, err
}

// stagedPage returns the harness that the reader has checked last; without one, the page says so.
func (s *staff) stagedPage(r *page.Request) (harnessPage, error) {
	p, err := s.harnessPage(r)
	if err != nil {
		return p, err
	}
	of, digest, _ := strings.Cut(r.Kept(stagedKey), " ")
	if digest == "" || of != p.Class+"/"+p.Handle {
		return p, nil
	}
	v, err := s.Classes.ViewStagedHarness(r.Context(), r.Actor(), p.Class, p.Handle, digest)
	if core.Is(err, core.CodeNotFound) {
		return p, nil // it was purged
	}
	if err == nil {
		p.View, p.New = v, true
		p.warn(r)
	}
	return p, err
}

func (s *staff) newHarness(r *page.Request) error {
	p, err := s.stagedPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/harnessnew", p)
}

func (s *staff) useNewHarness(r *page.Request) error {
	p, err := s.stagedPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.Typed = f.Typed
	p.User = cmp.Or(f.line("user"), p.User)
	switch use := f.line("use"); {
	case !p.New:
		f.wrong(r.T("No harness waits here: choose it again."))
	case use != useNow && use != useTry && use != useAll:
		f.wrong(r.T("Say what is to be done with the harness."))
	}
	if f.err != nil {
		return r.Again(f.err, "staff/harnessnew", p)
	}
	to, said, err := s.use(r, p, &p.View.Package, f.line("use"))
	if err != nil {
		return r.Again(mendable(err), "staff/harnessnew", p)
	}
	r.Keep(stagedKey, "")
	return r.Redirect(to, said)
}

// testRow is a test of the stock harness in a table.
type testRow struct {
	Group, Name string
	Points      float64
	TimeMs      int64
	Memory      int64 // bytes; 0 is the pool's
	Hidden      bool
	Final       bool   // only final submissions are tested by it
	Compare     string // "" if its output does not matter
	IgnoreCase  bool
	Message     string
}

func testRows(p *harness.Package) []testRow {
	if p.Cases == nil {
		return nil
	}
	var rows []testRow
	for _, t := range p.Cases.Tests() {
		row := testRow{
			Group: t.Group, Name: t.Name, Points: t.Points, TimeMs: t.Limits.Time.Milliseconds(), Memory: t.Limits.Memory,
			Hidden: t.Hidden, Final: t.Final, IgnoreCase: t.Compare.IgnoreCase, Message: t.Message,
		}
		if t.Output != nil || t.Compare.By == cases.Check {
			row.Compare = t.Compare.By
		}
		rows = append(rows, row)
	}
	return rows
}
