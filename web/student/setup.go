package student

import (
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// steps lead from nothing to a class whose students submit.
type steps []step

type step struct {
	Text, Help string
	URL        string // where it is done; "" until an earlier step is
	Done       bool
	Next       bool // the first one that is not done
}

// setUp adds the steps that are left to who manages classes.
func (h *home) setUp(r *page.Request) {
	if len(h.Classes) == 0 && core.Allow(r.Actor(), core.ActClassManage, core.Object{}) == nil {
		h.First = firstSteps(r, "", classes.Setup{})
		return
	}
	h.Setups = map[string]steps{}
	for _, c := range h.Classes {
		if all := stepsOf(r, c.Class, h.Glances[c.Handle]); all != nil {
			h.Setups[c.Handle] = all
		}
	}
}

// stepsOf returns the steps of a class; nil once all are done, and for readers who do not set it up.
func stepsOf(r *page.Request, c school.Class, o *classes.Overview) steps {
	may := core.Allow(r.Actor(), core.ActClassEdit, core.Object{Class: c.Handle}) == nil
	if o == nil || c.Deleting || o.Setup.Done() || !may {
		return nil
	}
	return firstSteps(r, c.Handle, o.Setup)
}

// firstSteps lists the steps of a class, or of one that is still to be made.
func firstSteps(r *page.Request, class string, s classes.Setup) steps {
	made := class != ""
	all := steps{
		{Text: r.T("Create a class"), Help: r.T("A course in one term."), URL: "/classes/new", Done: made},
		{Text: r.T("Enrol people"), Help: r.T("From a table of your campus system, or one by one."), Done: s.People},
		{Text: r.T("Create an assignment"), Help: r.T("What is to be done, and until when."), Done: s.Assignment != ""},
		{Text: r.T("Add tests"), Help: r.T("They grade what is submitted."), Done: s.Tests},
		{Text: r.T("Invite the students"), Help: r.T("Links by which they sign in for the first time."), Done: s.Invited},
	}
	if made {
		all[0].URL, all[1].URL, all[2].URL = path("classes", class), path("classes", class, "roster", "import"), path("classes", class, "assignments", "new")
		if s.People {
			all[1].URL, all[4].URL = path("classes", class, "roster"), path("classes", class, "invitations")
		}
		if s.Assignment != "" {
			all[2].URL = path("classes", class, "assignments", s.Assignment)
			all[3].URL = path("classes", class, "assignments", s.Assignment, "harness")
		}
	}
	for i := range all {
		if !all[i].Done {
			all[i].Next = true
			break
		}
	}
	return all
}
