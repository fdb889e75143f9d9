package staff

import (
	"bytes"
	"cmp"
	"io"
	"net/url"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
	"drover/web/page"
	"drover/web/transfer"
)

// uploads is how many harnesses one process reads at a time: each is held in memory.
const uploads = 4

func (s *staff) harnessRoutes() []page.Route {
	const at = "/classes/{class}/assignments/{assignment}/harness"
	return []page.Route{
		{Pattern: "GET " + at, Action: core.ActAssignmentEdit, Serve: s.harness},
		{Pattern: "POST " + at, Action: core.ActAssignmentEdit, Body: harness.MaxPackBytes + page.MaxForm, Serve: s.setHarness},
		{Pattern: "POST " + at + "/remove", Action: core.ActAssignmentEdit, Serve: s.removeHarness},
	}
}

// harnessPage is the form of a harness.
type harnessPage struct {
	*school.Assignment
	Settings string // harness.json of the present harness
	User     string // on whose newest submission it is tried
	Sample   bool   // whether the reader has a submission
	Typed    url.Values
}

func (s *staff) harnessPage(r *page.Request) (harnessPage, error) {
	p := harnessPage{User: r.Actor().Handle, Typed: url.Values{}}
	as, err := s.Classes.EditableAssignment(r.Context(), r.Actor(), r.PathValue("class"), r.PathValue("assignment"))
	if err != nil {
		return p, err
	}
	p.Assignment = &as
	if as.Harness != nil {
		p.Settings = string(as.Harness.Config)
	}
	own, err := s.Classes.ListSubmissions(r.Context(), r.Actor(), school.SubmissionFilter{Class: as.Class, Assignment: as.Handle, User: p.User, Limit: 1})
	p.Sample = len(own) > 0
	return p, err
}

func (s *staff) harness(r *page.Request) error {
	p, err := s.harnessPage(r)
	if err != nil {
		return err
	}
	return r.Render("staff/harness", p)
}

// setHarness accepts a harness: at once, or as an experiment on one submission, which makes it the assignment's when
// it is applied. An invalid one leaves nothing.
func (s *staff) setHarness(r *page.Request) error {
	p, err := s.harnessPage(r)
	if err != nil {
		return err
	}
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	default:
		return core.Errorf(core.CodeFull, p.Name(), "%s", r.T("Others are sending harnesses right now. Try again in a moment."))
	}
	body := transfer.Bounded(r.W, r.Body, s.Now)
	f, err := transfer.Read(body, r.Header.Get("Content-Type"))
	var packed harness.Package
	if err == nil {
		p.User = cmp.Or(f.Fields["user"], p.User)
		p.Typed.Set("use", f.Fields["use"])
		packed, err = readHarness(r, f)
	}
	if err != nil {
		_, _ = io.Copy(io.Discard, body) // a browser that cannot send everything shows no answer
		return r.Again(err, "staff/harness", p)
	}
	if f.Fields["use"] == "now" {
		if _, err := s.Classes.SetHarness(r.Context(), r.Actor(), p.Class, p.Handle, bytes.NewReader(packed.Tar)); err != nil {
			return r.Again(err, "staff/harness", p)
		}
		return r.Redirect(assignmentPath(p.Class, p.Handle)+"/harness", r.T("From now on %s is graded by the new harness.", p.Name()))
	}
	e, err := s.Classes.StartExperiment(r.Context(), r.Actor(), p.Class, p.Handle, classes.Trial{
		Harness: bytes.NewReader(packed.Tar), Users: []string{p.User}, Repeat: 1,
	})
	if err != nil {
		return r.Again(mendable(err), "staff/harness", p)
	}
	return r.Redirect(experimentPath(e.ID), r.T("The harness is being tried. It becomes the assignment's harness when you apply this."))
}

// readHarness reads the files of a harness, or the archive that contains them.
func readHarness(r *page.Request, f *transfer.Form) (harness.Package, error) {
	files := make(map[string]pack.File)
	room := int64(harness.MaxPackBytes)
	for u, err := range f.Files() {
		if err != nil {
			return harness.Package{}, err
		}
		content, err := io.ReadAll(io.LimitReader(u.Content, room+1))
		if err != nil {
			return harness.Package{}, core.Wrap(err, core.CodeInvalid, u.Path, "file %.80q cannot be read", u.Path)
		}
		if room -= int64(len(content)); room < 0 || len(files) == harness.MaxPackFiles {
			return harness.Package{}, core.Errorf(core.CodeLimit, "", "the harness has more than %d files or %d MiB", harness.MaxPackFiles, harness.MaxPackBytes>>20)
		}
		files[u.Path] = pack.File{Run: u.Mode&0o111 != 0, Content: content}
	}
	if len(files) == 0 {
		return harness.Package{}, core.Errorf(core.CodeInvalid, "", "%s", r.T("Choose an archive or a folder."))
	}
	return harness.PackFiles(files)
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
	return r.Redirect(assignmentPath(p.Class, p.Handle)+"/harness", r.T("%s is not graded any more.", p.Name()))
}
