package student

import (
	"strings"

	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
	"drover/web/page"
)

// gitForm is the form that submits a commit of a public repository, as typed.
type gitForm struct {
	Address string
	Ref     string
	Final   bool
	Hosts   string // from which repositories are fetched
}

// newGit returns the empty form; nil if this site fetches no repositories.
func (d *student) newGit() *gitForm {
	if !d.deps.Repositories.Offered() {
		return nil
	}
	return &gitForm{Hosts: strings.Join(d.deps.Repositories.Hosts, ", ")}
}

// submitGit makes a submission of a repository. It is fetched once it is clear that it may be submitted.
func (d *student) submitGit(r *page.Request) error {
	typed := form{Kind: harness.TestPublic, Git: d.newGit()}
	read := gitForm{
		Address: strings.TrimSpace(r.PostFormValue("address")), Ref: strings.TrimSpace(r.PostFormValue("ref")),
		Final: r.PostFormValue(fieldKind) == harness.TestFinal,
	}
	if typed.Git != nil {
		read.Hosts = typed.Git.Hosts
		*typed.Git = read
	}
	s, err := d.submitRepository(r, read)
	if err == nil {
		return r.Redirect(path("submissions", s.ID), r.T("Submitted."))
	}
	a, unseen := d.readAssignment(r, typed)
	if unseen != nil {
		return unseen
	}
	return r.Again(err, "student/assignment", a)
}

func (d *student) submitRepository(r *page.Request, typed gitForm) (school.Submission, error) {
	kind := harness.TestPublic
	if typed.Final {
		kind = harness.TestFinal
	}
	n := classes.NewSubmission{
		Class: r.PathValue("class"), Assignment: r.PathValue("assignment"), Kind: kind, Idempotency: r.PostFormValue(fieldKey),
	}
	return d.deps.Classes.Submit(r.Context(), r.Actor(), d.deps.Repositories.Submission(r.Context(), n, typed.Address, typed.Ref))
}
