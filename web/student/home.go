package student

import (
	"drover/core/classes"
	"drover/web/page"
)

// classesShown is how many classes a page lists.
const classesShown = 100

// home shows a user's classes and assignments.
type home struct {
	Classes []classes.ClassEntry
	Next    string
	Glances map[string]*classes.Overview // of the classes that the reader teaches
	Work    work
	News    []newsRow        // comments and answers that the reader has not seen
	First   steps            // of an admin of a site without classes
	Setups  map[string]steps // of the reader's classes that have not begun
}

// work lists assignments.
type work struct {
	Of     string // the class; "" if several are listed
	Rows   []workRow
	Hidden int    // number that ended more than a week ago
	All    bool   // those are shown too
	Toggle string // URL that shows the others
}

type workRow struct {
	classes.AssignmentEntry
	Class    string // its title
	Progress badge
}

func (d *student) home(r *page.Request) error {
	after := r.URL.Query().Get("after")
	all, err := d.deps.Classes.ListClasses(r.Context(), r.Actor(), after, classesShown)
	if err != nil {
		return err
	}
	h := home{Classes: all}
	if len(all) == classesShown {
		h.Next = more(r.Request, "after", all[len(all)-1].Handle)
	}
	if h.Glances, err = d.glances(r, all); err != nil {
		return err
	}
	titles := make(map[string]string, len(all))
	for _, c := range all {
		titles[c.Handle] = c.Title
	}
	if h.Work, err = d.work(r, "", titles); err != nil {
		return err
	}
	if h.News, err = d.news(r); err != nil {
		return err
	}
	h.tell(r)
	h.setUp(r)
	return r.Render("student/home", h)
}

// newsRow is a submission with comments and answers that its student has not seen.
type newsRow struct {
	classes.Unread
	Title string // of the assignment
}

func (d *student) news(r *page.Request) ([]newsRow, error) {
	all, err := d.deps.Classes.UnreadComments(r.Context(), r.Actor())
	var rows []newsRow
	for _, u := range all {
		rows = append(rows, newsRow{u, r.AssignmentTitle(u.Class, u.Assignment)})
	}
	return rows, err
}

// tell says of assignments that the reader teaches how many have submitted, not what the reader has.
func (h *home) tell(r *page.Request) {
	for i := range h.Work.Rows {
		row := &h.Work.Rows[i]
		o := h.Glances[row.AssignmentEntry.Class]
		if o == nil {
			continue
		}
		for _, t := range o.Tallies {
			if t.Handle == row.Handle {
				row.Progress, row.Submitted = badge{Kind: "calm", Text: r.T("%d of %d submitted", t.Submitted, t.Students)}, 0
			}
		}
	}
}

// work lists the assignments of a class, or for "" those of all the actor's classes.
func (d *student) work(r *page.Request, class string, titles map[string]string) (work, error) {
	w := work{Of: class, All: r.URL.Query().Get("all") != ""}
	all, left, err := d.deps.Classes.ListAssignments(r.Context(), r.Actor(), classes.AssignmentFilter{Class: class, All: w.All})
	if err != nil {
		return w, err
	}
	w.Hidden, w.Toggle = left, r.URL.Path
	if !w.All {
		w.Toggle = more(r.Request, "all", "1")
	}
	for _, e := range all {
		title := titles[e.Class]
		if title == "" {
			title = e.Class
		}
		w.Rows = append(w.Rows, workRow{e, title, progresses[e.Progress].said(r)})
	}
	return w, nil
}

// class is one class with its assignments.
type class struct {
	Class    classes.ClassEntry
	Overview *classes.Overview // nil for students
	Work     work
	Setup    steps
}

func (d *student) class(r *page.Request) error {
	c, err := d.deps.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class"))
	if err != nil {
		return err
	}
	w, err := d.work(r, c.Handle, nil)
	if err != nil {
		return err
	}
	o, err := d.overview(r, c.Handle)
	if err != nil {
		return err
	}
	return r.Render("student/class", class{c, o, w, stepsOf(r, c.Class, o)})
}
