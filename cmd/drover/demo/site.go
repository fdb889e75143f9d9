package demo

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/core"
	"drover/core/classes"
	"drover/core/harness"
	"drover/core/school"
)

// The school of drover demo --keep.
const (
	demoClass   = "cs101"
	DemoTeacher = "tess"
)

// demoPeople are the users, with their roles: in the class, or for the cluster.
var demoPeople = []struct {
	handle, name string
	role         core.UserRole
	about        string // what they can see
}{
	{"root", "Rosa Ott", core.RoleAdmin, "everything, users too"},
	{"olga", "Olga Brandt", core.RoleOperator, "the cluster"},
	{DemoTeacher, "Tess Okafor", core.RoleTeacher, "the class, as its teacher"},
	{"tim", "Tim Sato", core.RoleAssistant, ""},
	{"ann", "Ann Lee", core.RoleStudent, "the class, as a student"},
	{"bob", "Bob Ray", core.RoleStudent, ""},
	{"cat", "Cat Fox", core.RoleStudent, ""},
	{"dan", "Dan Novak", core.RoleStudent, ""},
	{"eve", "Eve Park", core.RoleStudent, ""},
	{"fay", "Fay Singh", core.RoleStudent, ""},
	{"gus", "Gus Weber", core.RoleStudent, ""},
	{"hal", "Hal Moreau", core.RoleStudent, ""},
	{"ivy", "Ivy Costa", core.RoleStudent, ""},
	{"joe", "Joe Blum", core.RoleStudent, ""},
	{"kim", "Kim Dahl", core.RoleStudent, ""},
	{"leo", "Leo Grant", core.RoleStudent, ""},
}

// demoSchool fills a cluster with a class, its assignments, and what was submitted.
type demoSchool struct {
	h   *access.Cluster
	reg *classes.Service
	now time.Time
}

// fill creates everything and waits until all is graded.
func (s *demoSchool) fill(ctx context.Context, all []*Assignment) error {
	if err := s.people(ctx); err != nil {
		return err
	}
	var requests []string
	for i, a := range all {
		if err := s.assignment(ctx, a, i); err != nil {
			return err
		}
		more, err := s.submitTo(ctx, a, i)
		if err != nil {
			return err
		}
		requests = append(requests, more...)
	}
	if err := s.extras(ctx, all); err != nil {
		return err
	}
	if err := s.follow(ctx, requests); err != nil {
		return err
	}
	requests = nil // what is submitted while older work waits takes its place
	for i, a := range all {
		more, err := s.submitAgain(ctx, a, i)
		if err != nil {
			return err
		}
		requests = append(requests, more...)
	}
	return s.follow(ctx, requests)
}

// follow waits until requests have ended.
func (s *demoSchool) follow(ctx context.Context, requests []string) error {
	for _, id := range requests {
		if err := request.NewFollower(s.h.AsOperator(), id).Follow(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *demoSchool) people(ctx context.Context) error {
	by := access.Operator()
	if _, err := s.reg.CreateClass(ctx, by, school.Class{Handle: demoClass, Title: "Programming I", Term: "2026 autumn"}); err != nil {
		return err
	}
	for _, p := range demoPeople {
		u := school.User{Handle: p.handle, Name: p.name, Email: p.handle + "@example.org"}
		if p.role.Valid() {
			u.Roles = []core.UserRole{p.role}
		}
		if _, err := s.reg.CreateUser(ctx, by, u); err != nil {
			return err
		}
		if !p.role.InClass() {
			continue
		}
		if err := s.reg.Enrol(ctx, by, demoClass, p.handle, p.role); err != nil {
			return err
		}
	}
	return nil
}

// assignment creates an assignment from an example. The first one is over, the others are due later.
func (s *demoSchool) assignment(ctx context.Context, a *Assignment, n int) error {
	by := access.Operator()
	due := s.now.AddDate(0, 0, 5*n-1)
	pack, err := harness.Pack(filepath.Join(a.dir, "harness"))
	if err != nil {
		return err
	}
	if _, err := s.reg.CreateAssignment(ctx, by, school.Assignment{
		Class: demoClass, Handle: a.Name, Title: a.Title, Text: "Submit the file that the example asks for. *Late* work is taken for three days.",
		Due: due.UnixMilli(), Cutoff: due.AddDate(0, 0, 3).UnixMilli(), Pool: a.Pool.Name, AllowFinal: true, ShowOutput: true,
	}); err != nil {
		return err
	}
	_, err = s.reg.SetHarness(ctx, by, demoClass, a.Name, pack.Tar())
	return err
}

// submitTo submits the example's submissions, each for another student, and returns their requests.
func (s *demoSchool) submitTo(ctx context.Context, a *Assignment, n int) ([]string, error) {
	var requests []string
	for i, e := range a.expect {
		id, err := s.submit(ctx, a, demoStudent(i+n), e.Name)
		if err != nil {
			return nil, err
		}
		requests = append(requests, id)
	}
	return requests, nil
}

// submitAgain has most students whose first submission was not right submit a better one.
func (s *demoSchool) submitAgain(ctx context.Context, a *Assignment, n int) ([]string, error) {
	better := map[int]string{}
	for _, e := range slices.Backward(a.expect) { // the plainest are first
		if e.Verdict == harness.Passed {
			better[0] = e.Name
		}
		if e.Verdict == harness.Partial {
			better[1] = e.Name
		}
	}
	var requests []string
	for i, e := range a.expect {
		name, has := better[(i+n)%4%3] // a right one for two of four, some points for the third, none for the last
		if !has || e.Verdict == harness.Passed || e.Name == name {
			continue
		}
		id, err := s.submit(ctx, a, demoStudent(i+n), name)
		if err != nil {
			return nil, err
		}
		requests = append(requests, id)
	}
	return requests, nil
}

// demoStudent returns the handle of one of the students.
func demoStudent(n int) string {
	var students []string
	for _, p := range demoPeople {
		if p.role == core.RoleStudent {
			students = append(students, p.handle)
		}
	}
	return students[n%len(students)]
}

// submit submits one of the example's submissions for a student, and returns its request.
func (s *demoSchool) submit(ctx context.Context, a *Assignment, user, name string) (string, error) {
	actor, err := s.reg.Actor(ctx, user)
	if err != nil {
		return "", err
	}
	sub, err := s.reg.Submit(ctx, actor, classes.NewSubmission{
		Class: demoClass, Assignment: a.Name, Files: request.Uploads([]string{filepath.Join(a.dir, "submissions", name)}),
	})
	return sub.Request, err
}

// extras adds what else a class has: a grade by hand, a deadline extension, an ungraded submission, a hidden
// assignment.
func (s *demoSchool) extras(ctx context.Context, all []*Assignment) error {
	teacher, err := s.reg.Actor(ctx, DemoTeacher)
	if err != nil {
		return err
	}
	for _, as := range []school.Assignment{
		{Handle: "essay", Title: "Why tests fail", Text: "Two pages, as a PDF. A person reads it.", Due: s.now.AddDate(0, 0, 12).UnixMilli()},
		{Handle: "exam", Title: "The exam", HideUntil: s.now.AddDate(0, 1, 0).UnixMilli()},
	} {
		as.Class = demoClass
		if _, err := s.reg.CreateAssignment(ctx, teacher, as); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := s.reg.SetDeadline(ctx, teacher, school.Deadline{
		Class: demoClass, Assignment: all[0].Name, User: "ann", Due: s.now.AddDate(0, 0, 2).UnixMilli(), Reason: "was ill",
	}); err != nil {
		return err
	}
	score := 9.5
	_, err = s.reg.ChangeGrade(ctx, teacher, classes.GradeChange{Class: demoClass, Assignment: all[0].Name, User: "ann", Score: &score, Reason: "explained it well"})
	return err
}
