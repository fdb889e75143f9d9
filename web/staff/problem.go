package staff

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
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
		for _, name := range []string{"handle", "pool", "time"} {
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
	dir, err := os.MkdirTemp("", "drover-problem-")
	if err != nil {
		return pack, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	from, to := filepath.Join(dir, "package"), filepath.Join(dir, "harness")
	top, err := keepProblem(r.Context(), f, from)
	if err != nil {
		return pack, err
	}
	if top == "" {
		return pack, core.Errorf(core.CodeInvalid, "", "%s", r.T("This is no problem package: there is no problem.yaml in it."))
	}
	is, err := problem.Open(filepath.Join(from, filepath.FromSlash(top)))
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
	if err = is.Write(to); err == nil {
		pack, err = harness.Pack(to)
	}
	if err == nil {
		as.Title = is.Title
		as.MaxBytes = is.Limits.Code
	}
	return pack, err
}

// keepProblem writes the files of a form into a folder, and returns the folder among them that has the package's settings.
func keepProblem(ctx context.Context, f *transfer.Form, dir string) (top string, err error) {
	if err = os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	room, files := int64(harness.MaxPackBytes), 0
	for u, fault := range f.Files() {
		if fault != nil {
			return "", fault
		}
		if files++; files > harness.MaxPackFiles || room < 0 || ctx.Err() != nil {
			return "", core.Errorf(core.CodeLimit, "", "the package has more than %d files or %d MiB", harness.MaxPackFiles, harness.MaxPackBytes>>20)
		}
		if path.Base(u.Path) == problem.File && (top == "" || len(path.Dir(u.Path)) < len(top)) {
			top = path.Dir(u.Path)
		}
		if err = root.MkdirAll(path.Dir(u.Path), 0o700); err != nil {
			return "", err
		}
		out, err := root.OpenFile(u.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600|os.FileMode(u.Mode)&0o100)
		if err != nil {
			return "", err
		}
		n, err := io.Copy(out, io.LimitReader(u.Content, room+1))
		room -= n
		if err = errors.Join(err, out.Close()); err != nil {
			return "", core.Wrap(err, core.CodeInvalid, u.Path, "file %.80q cannot be read", u.Path)
		}
	}
	if room < 0 {
		return "", core.Errorf(core.CodeLimit, "", "the package has more than %d MiB", harness.MaxPackBytes>>20)
	}
	return top, nil
}
