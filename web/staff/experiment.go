package staff

import (
	"net/url"
	"slices"
	"strings"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/experiment"
	"drover/core/harness"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) experimentRoutes() []page.Route {
	const of = "/classes/{class}/assignments/{assignment}/experiments"
	return []page.Route{
		{Pattern: "GET " + of, Action: core.ActExperiment, Serve: s.experiments},
		{Pattern: "POST " + of, Action: core.ActExperiment, Serve: s.startExperiment},
		{Pattern: "GET /experiments/{id}", Action: core.ActExperiment, Serve: s.experiment},
		{Pattern: "POST /experiments/{id}/apply", Action: core.ActExperiment, Serve: s.applyExperiment},
		{Pattern: "POST /experiments/{id}/abort", Action: core.ActExperiment, Serve: s.abortExperiment},
	}
}

func experimentPath(id string) string { return "/experiments/" + url.PathEscape(id) }

// experimentRows is how many experiments, or outcomes of one, a page has.
const experimentRows = 50

// testColumns is how many tests the table of students and tests has.
const testColumns = 40

// experimentsPage lists an assignment's experiments, with the form that starts one.
type experimentsPage struct {
	*classes.AssignmentEntry
	All   []school.Experiment
	Open  bool // one of them is not decided
	Most  int  // runs of each submission
	Typed url.Values
}

func (s *staff) experimentsPage(r *page.Request) (experimentsPage, error) {
	p := experimentsPage{Typed: url.Values{"repeat": {"1"}}, Most: school.MaxRepeat}
	as, err := s.Classes.ViewAssignment(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment"))
	if err != nil {
		return p, err
	}
	p.AssignmentEntry = &as
	p.All, err = s.Classes.Experiments(r.Context(), r.Actor(), as.Class, as.Handle, experimentRows)
	p.Open = slices.ContainsFunc(p.All, func(e school.Experiment) bool { return !e.State.Decided() })
	return p, err
}

func (s *staff) experiments(r *page.Request) error {
	p, err := s.experimentsPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/experiments", p)
}

// startExperiment reruns with the assignment's own harness; the harness's page tries another one.
func (s *staff) startExperiment(r *page.Request) error {
	p, err := s.experimentsPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	p.Typed = f.Typed
	trial := classes.Trial{
		Users:  strings.FieldsFunc(f.line("users"), func(c rune) bool { return strings.ContainsRune(" ,;\r\n\t", c) }),
		Repeat: f.small(r, "repeat", page.Sentence("Runs of each")),
	}
	var e school.Experiment
	if err = f.err; err == nil {
		e, err = s.Classes.StartExperiment(r.Context(), r.Actor(), p.Class, p.Handle, trial)
	}
	if err != nil {
		return r.Again(mendable(err), "staff/experiments", p)
	}
	return r.Redirect(experimentPath(e.ID), r.T("The experiment has begun. Its results do not count until it is applied."))
}

// experimentPage is an experiment with its verdicts.
type experimentPage struct {
	*classes.ExperimentView
	Progress core.TaskProgress
	News     []harness.Verdict // columns of the matrix
	Rows     []matrixRow
	Tests    []experiment.TestChange // columns of the table of students and tests
	More     int                     // tests without a column
	All      bool                    // includes submissions whose verdict and score are unchanged
	Next     string
	Applied  *classes.Applied
}

// matrixRow has the new verdicts of the submissions with one old verdict.
type matrixRow struct {
	Old    harness.Verdict
	Counts []int // in the order of News
}

// Flaky are the outcomes of this page whose runs disagree.
func (p experimentPage) Flaky() (flaky []experiment.Outcome) {
	for _, o := range p.Outcomes {
		if o.Flaky {
			flaky = append(flaky, o)
		}
	}
	return flaky
}

// Moves are what may become of a test, for the legend.
func (p experimentPage) Moves() []experiment.Move {
	return []experiment.Move{experiment.Stays, experiment.Gained, experiment.Lost, experiment.Fails, experiment.Won, experiment.Added, experiment.Gone}
}

func (s *staff) experimentPage(r *page.Request) (experimentPage, error) {
	q := r.URL.Query()
	p := experimentPage{All: q.Get("all") != ""}
	id := r.PathValue("id")
	v, err := s.Classes.ViewExperiment(r.Context(), r.Actor(), id, classes.OutcomePage{Differing: !p.All, After: q.Get("after"), Limit: experimentRows})
	if err != nil {
		return p, err
	}
	p.ExperimentView = &v
	if v.State == school.ExperimentRunning {
		if _, p.Progress, err = s.Classes.ExperimentProgress(r.Context(), r.Actor(), id); err != nil {
			return p, err
		}
	}
	if n := len(v.Outcomes); n == experimentRows {
		q.Set("after", v.Outcomes[n-1].Submission)
		p.Next = "?" + q.Encode()
	}
	p.News, p.Rows = matrix(v.Summary)
	p.Tests = v.Summary.Tests
	if p.More = len(p.Tests) - testColumns; p.More > 0 {
		p.Tests = p.Tests[:testColumns]
	}
	return p, nil
}

// matrix returns the old verdicts as rows and the new ones as columns.
func matrix(s experiment.Summary) ([]harness.Verdict, []matrixRow) {
	var news, olds []harness.Verdict
	counts := map[[2]harness.Verdict]int{}
	for _, cell := range s.Matrix {
		olds, news = append(olds, cell.Old), append(news, cell.New)
		counts[[2]harness.Verdict{cell.Old, cell.New}] = cell.Count
	}
	slices.Sort(olds)
	slices.Sort(news)
	news = slices.Compact(news)
	var rows []matrixRow
	for _, old := range slices.Compact(olds) {
		row := matrixRow{Old: old}
		for _, verdict := range news {
			row.Counts = append(row.Counts, counts[[2]harness.Verdict{old, verdict}])
		}
		rows = append(rows, row)
	}
	return news, rows
}

func (s *staff) experiment(r *page.Request) error {
	p, err := s.experimentPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/experiment", p)
}

// applyExperiment answers with the submissions that were left unchanged, if any.
func (s *staff) applyExperiment(r *page.Request) error {
	return s.decide(r, func() (*classes.Applied, string, error) {
		done, err := s.Classes.ApplyExperiment(r.Context(), r.Actor(), r.PathValue("id"))
		return &done, r.N(done.Bound, "It is applied: the new result of %d submission counts.", "It is applied: the new results of %d submissions count."), err
	})
}

func (s *staff) abortExperiment(r *page.Request) error {
	return s.decide(r, func() (*classes.Applied, string, error) {
		_, err := s.Classes.AbortExperiment(r.Context(), r.Actor(), r.PathValue("id"))
		return nil, r.T("It is aborted: its results do not count."), err
	})
}

// decide carries out a confirmed decision.
func (s *staff) decide(r *page.Request, do func() (*classes.Applied, string, error)) error {
	f, err := typed(r)
	if err != nil {
		return err
	}
	f.confirmed(r)
	var done *classes.Applied
	var said string
	if err = f.err; err == nil {
		done, said, err = do()
	}
	if err == nil && (done == nil || len(done.Skipped) == 0) {
		return r.Redirect(experimentPath(r.PathValue("id")), said)
	}
	p, unseen := s.experimentPage(r)
	if unseen != nil {
		return unseen
	}
	if err != nil {
		return r.Again(err, "staff/experiment", p)
	}
	p.Applied = done
	return r.Render("staff/experiment", p)
}
