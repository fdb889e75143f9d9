package staff

import (
	"cmp"
	"net/url"

	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/harness/cases"
	"drover/core/school"
	"drover/web/page"
	"drover/web/transfer"
)

// uploads is how many harnesses one process reads at a time: each is held in memory.
const uploads = 4

func (s *staff) harnessRoutes() []page.Route {
	const at, edit = "/classes/{class}/assignments/{assignment}/harness", core.ActAssignmentEdit
	return []page.Route{
		{Pattern: "GET " + at, Action: edit, Serve: s.harness},
		{Pattern: "POST " + at, Action: edit, Body: harness.MaxPackBytes + page.MaxForm, Serve: s.setHarness},
		{Pattern: "POST " + at + "/remove", Action: edit, Serve: s.removeHarness},
		{Pattern: "GET " + at + "/new", Action: edit, Serve: s.newHarness},
		{Pattern: "POST " + at + "/new", Action: edit, Serve: s.useNewHarness},
		{Pattern: "GET " + at + "/cases", Action: edit, Serve: s.cases},
		{Pattern: "POST " + at + "/cases", Action: edit, Body: 3*cases.MaxSize + page.MaxForm, Serve: s.saveCases},
		{Pattern: "GET " + at + "/files/{path...}", Action: edit, Serve: s.harnessFile},
	}
}

// The ways to use a new harness.
const (
	useCheck = "check" // look at it first
	useNow   = "now"
	useTry   = "try" // on the newest submission of one user
	useAll   = "all" // on the newest submissions of all
)

// harnessPage is the present harness, with the form for another one.
type harnessPage struct {
	*school.Assignment
	View  classes.HarnessView
	Warns []string           // in the reader's language
	Open  *school.Experiment // that is not decided
	New   bool               // the harness is not the assignment's: it was checked only
	User  string             // on whose newest submission it is tried
	Typed url.Values
}

// CaseTests lists the tests of the stock harness; none for a program of its own.
func (p harnessPage) CaseTests() []testRow { return testRows(&p.View.Package) }

// Points returns the sum of the points of all tests.
func (p harnessPage) Points() float64 {
	sum := 0.0
	for _, t := range p.CaseTests() {
		sum += t.Points
	}
	return sum
}

func (s *staff) harnessPage(r *page.Request) (harnessPage, error) {
	p := harnessPage{Typed: url.Values{}}
	var err error
	if p.View, err = s.Classes.ViewHarness(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment")); err != nil {
		return p, err
	}
	return p, s.aboutTrials(r, &p)
}

// aboutTrials fills what the page says of trials: the one that is open, and the user with the newest submission, whose
// trial is not refused.
func (s *staff) aboutTrials(r *page.Request, p *harnessPage) error {
	p.Assignment = &p.View.Assignment
	p.warn(r)
	all, err := s.Classes.Experiments(r.Context(), r.Actor(), p.Class, p.Handle, experimentRows)
	if err != nil {
		return err
	}
	for i := range all {
		if !all[i].State.Decided() {
			p.Open = &all[i]
		}
	}
	newest, err := s.Classes.ListSubmissions(r.Context(), r.Actor(), school.SubmissionFilter{Class: p.Class, Assignment: p.Handle, Limit: 1})
	if len(newest) > 0 {
		p.User = newest[0].Submission.User
	}
	return err
}

// warn says the warnings about the harness in the reader's language.
func (p *harnessPage) warn(r *page.Request) {
	p.Warns = nil
	for _, w := range p.View.Warnings {
		p.Warns = append(p.Warns, warning(r, w))
	}
}

func (s *staff) harness(r *page.Request) error {
	p, err := s.harnessPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/harness", p)
}

// setHarness accepts a harness: to look at its check first, at once, or as an experiment on one submission or all. An
// invalid one leaves nothing.
func (s *staff) setHarness(r *page.Request) error {
	p, err := s.harnessPage(r)
	if err != nil {
		return err
	}
	leave, err := s.enter(r, p.Name())
	if err != nil {
		return err
	}
	defer leave()
	var packed harness.Package
	var use string
	err = s.receive(r, func(f *transfer.Form) (err error) {
		use, p.User = f.Fields["use"], cmp.Or(f.Fields["user"], p.User)
		p.Typed.Set("use", use)
		packed, err = readHarness(r, f)
		return err
	})
	if err != nil {
		return r.Again(err, "staff/harness", p)
	}
	if use != useNow {
		if p.View, err = s.stage(r, p.Class, p.Handle, &packed); err != nil {
			return r.Again(err, "staff/harness", p)
		}
		p.New = true
		p.warn(r)
	}
	to, said, err := s.use(r, p, &packed, use)
	if err != nil && p.New {
		return r.Again(mendable(err), "staff/harnessnew", p)
	}
	if err != nil {
		return r.Again(mendable(err), "staff/harness", p)
	}
	return r.Redirect(to, said)
}

// use does with a harness what its author has chosen, and returns where to go, and what to say there.
func (s *staff) use(r *page.Request, p harnessPage, packed *harness.Package, how string) (to, said string, err error) {
	trial := classes.Trial{Harness: packed.Tar(), Repeat: 1}
	switch how {
	case useNow:
		_, err := s.Classes.SetHarness(r.Context(), r.Actor(), p.Class, p.Handle, packed.Tar())
		return assignmentPath(p.Class, p.Handle) + "/harness", r.T("From now on %s is graded by the new harness.", cmp.Or(p.Title, p.Handle)), err
	case useTry:
		trial.Users = []string{p.User}
	case useAll:
	default:
		return assignmentPath(p.Class, p.Handle) + "/harness/new", "", nil
	}
	e, err := s.Classes.StartExperiment(r.Context(), r.Actor(), p.Class, p.Handle, trial)
	return experimentPath(e.ID), r.T("The harness is being tried. It becomes the assignment's harness when you apply this."), err
}

// readHarness reads the files of a harness, or the archive that contains them.
func readHarness(r *page.Request, f *transfer.Form) (harness.Package, error) {
	files := harness.NewIncoming()
	for u, err := range f.Files() {
		if err != nil {
			return harness.Package{}, err
		}
		if err := files.Add(u.Path, u.Mode&0o111 != 0, u.Content); err != nil {
			return harness.Package{}, err
		}
	}
	if files.Empty() {
		return harness.Package{}, core.Errorf(core.CodeInvalid, "", "%s", r.T("Choose an archive or a folder."))
	}
	return files.Pack()
}

func (s *staff) removeHarness(r *page.Request) error {
	p, err := s.harnessPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	f.confirmed(r)
	if err = f.err; err == nil {
		_, err = s.Classes.RemoveHarness(r.Context(), r.Actor(), p.Class, p.Handle)
	}
	if err != nil {
		return r.Again(err, "staff/harness", p)
	}
	return r.Redirect(assignmentPath(p.Class, p.Handle)+"/harness", r.T("%s is not graded any more.", cmp.Or(p.Title, p.Handle)))
}
