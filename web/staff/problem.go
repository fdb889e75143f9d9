package staff

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/harness"
	"drover/core/harness/problem"
	"drover/core/school"
	"drover/web/page"
	"drover/web/transfer"
)

// problemRoutes make assignments of problem packages.
func (s *staff) problemRoutes() []page.Route {
	const at, edit = "/classes/{class}/assignments/problem", core.ActAssignmentEdit
	return []page.Route{
		{Pattern: "GET " + at, Action: edit, Serve: s.newProblem},
		{Pattern: "POST " + at, Action: edit, Body: harness.MaxPackBytes + page.MaxForm, Serve: s.createProblem},
	}
}

// problemPage is the form that takes a package.
type problemPage struct {
	*assignmentPage
	Refused []string // what drover cannot judge of the package
}

func (s *staff) problemPage(r *page.Request) (*problemPage, error) {
	as, err := s.assignmentPage(r)
	if err == nil && len(as.Pools) > 0 {
		as.Typed.Set("pool", as.Pools[0])
	}
	return &problemPage{assignmentPage: as}, err
}

func (s *staff) newProblem(r *page.Request) error {
	p, err := s.problemPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/problem", p)
}

// createProblem makes an assignment of a package, with its harness. A package that is refused leaves nothing.
func (s *staff) createProblem(r *page.Request) error {
	p, err := s.problemPage(r)
	if err != nil {
		return err
	}
	leave, err := s.enter(r, p.Class)
	if err != nil {
		return err
	}
	defer leave()
	as := p.Assignment
	var pack harness.Package
	err = s.receive(r, func(f *transfer.Form) (err error) {
		for _, name := range []string{"handle", "pool", "time", "memory"} {
			p.Typed.Set(name, f.Fields[name])
		}
		as.Handle, as.Pool = strings.TrimSpace(f.Fields["handle"]), f.Fields["pool"]
		pack, err = readProblem(r, f, p, &as)
		return err
	})
	if err != nil {
		return r.Again(err, "staff/problem", p)
	}
	if as, err = s.Classes.CreateGraded(r.Context(), r.Actor(), as, pack.Tar()); err != nil {
		return r.Again(mendable(err), "staff/problem", p)
	}
	return r.Redirect(assignmentPath(as.Class, as.Handle)+"/harness", r.T("Assignment %s was created, with %d tests of the package.", cmp.Or(as.Title, as.Handle), len(pack.Cases.Tests())))
}

// readProblem makes a harness of the package in a form, and fills in what it says of the assignment.
func readProblem(r *page.Request, f *transfer.Form, p *problemPage, as *school.Assignment) (pack harness.Package, err error) {
	is, err := sentProblem(r, f)
	if err != nil {
		return pack, err
	}
	defer func() { err = errors.Join(err, is.Close()) }()
	if typed := strings.TrimSpace(f.Fields["time"]); typed != "" {
		seconds, err := strconv.ParseFloat(strings.ReplaceAll(typed, ",", "."), 64)
		if err != nil || !(seconds >= 0.001 && seconds <= 3600) {
			return pack, core.Errorf(core.CodeInvalid, "", "%s", r.T("%s: %.40q is no number of seconds above 0.", r.T("Time limit"), typed))
		}
		is.Limits.Time = time.Duration(seconds * float64(time.Second))
	}
	limits := form{Typed: p.Typed}
	if is.Limits.Memory = cmp.Or(limits.bytes(r, "memory", "Memory limit"), is.Limits.Memory); limits.err != nil {
		return pack, limits.err
	}
	is.Plan()
	for _, n := range is.Refused {
		p.Refused = append(p.Refused, n.String())
	}
	switch {
	case len(p.Refused) > 0:
		return pack, core.Errorf(core.CodeInvalid, "", "%s", r.T("This package cannot be judged as its authors say. What is in the way is listed below."))
	case is.Limits.Time == 0:
		return pack, core.Errorf(core.CodeInvalid, "", "%s", r.T("The package leaves its time limit to be measured: give one."))
	}
	to, err := os.MkdirTemp("", "drover-harness-")
	if err != nil {
		return pack, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
	if err = is.Write(to); err == nil {
		pack, err = harness.Pack(to)
	}
	if err == nil {
		as.Title = is.Title
		as.MaxBytes = is.Limits.Code
	}
	return pack, err
}

// sentProblem reads the package in the archive of a form.
func sentProblem(r *page.Request, f *transfer.Form) (*problem.Problem, error) {
	f.Fields[transfer.FieldArchives] = transfer.Keep // packages may have links
	for u, err := range f.Files() {
		if err != nil {
			return nil, err
		}
		return problem.Read(u.Path, u.Content)
	}
	return nil, core.Errorf(core.CodeInvalid, "", "%s", r.T("Choose an archive."))
}
