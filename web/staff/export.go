package staff

import (
	"net/url"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

func (s *staff) exportRoutes() []page.Route {
	return []page.Route{
		{Pattern: "POST /classes/{class}/assignments/{assignment}/tasks/{kind}", Action: core.ActExport, Serve: s.startOfAssignment},
		{Pattern: "POST /classes/{class}/tasks/{kind}", Action: core.ActExport, Serve: s.startOfClass},
	}
}

// taskForm is the form of a task that makes a file.
type taskForm struct {
	Kind   core.TaskKind
	Fields []taskField
}

type taskField struct {
	core.TaskArg

	ID    string // in the page
	Value string // as typed, or the default
}

// taskForms returns those of the tasks about a class, or an assignment.
func taskForms(about core.ArgType, typed url.Values) []taskForm {
	var all []taskForm
	for _, k := range school.Requestable() {
		if k.About() != about {
			continue
		}
		f := taskForm{Kind: k}
		for _, a := range k.Options() {
			field := taskField{TaskArg: a, ID: k.Name + "-" + a.Name, Value: a.Default}
			if typed.Has(a.Flag()) {
				field.Value = typed.Get(a.Flag())
			}
			f.Fields = append(f.Fields, field)
		}
		all = append(all, f)
	}
	return all
}

// start starts the task in a form.
func (s *staff) start(r *page.Request, about core.ArgType, class, assignment string, f *form) (core.Task, error) {
	k, err := school.Requestable().Find(r.PathValue("kind"))
	if err != nil || k.About() != about {
		return core.Task{}, core.Errorf(core.CodeNotFound, "", "%s", r.T("There is no such page."))
	}
	texts := map[string]string{"class": class, "assignment": assignment}
	for _, a := range k.Options() {
		if f.Typed.Has(a.Flag()) {
			texts[a.Flag()] = f.line(a.Flag())
		}
	}
	args, err := k.Write(texts)
	if err != nil {
		return core.Task{}, err
	}
	return s.Classes.StartTask(r.Context(), r.Actor(), k.Name, args)
}

// startOfAssignment starts a task from the page of submissions, which shows errors.
func (s *staff) startOfAssignment(r *page.Request) error {
	p, err := s.submissionsPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	t, err := s.start(r, core.ArgAssignment, p.Class, p.Handle, f)
	if err != nil {
		p.Typed, p.Forms = f.Typed, taskForms(core.ArgAssignment, f.Typed)
		return r.Again(mendable(err), "staff/submissions", p)
	}
	return r.Redirect(taskPath(t.ID), "")
}

// exportRows is how many tasks a gradebook's page has.
const exportRows = 20

// gradebookPage has the forms of files about a class, with the files made before.
type gradebookPage struct {
	grid

	Class classes.ClassEntry
	Tasks []core.Task // the reader's own tasks about the class
	Forms []taskForm
}

func (s *staff) gradebookPage(r *page.Request) (gradebookPage, error) {
	p := gradebookPage{Forms: taskForms(core.ArgClass, nil)}
	var err error
	if p.Class, err = s.Classes.ViewClass(r.Context(), r.Actor(), r.PathValue("class")); err != nil {
		return p, err
	}
	if err := may(r, core.ActExport, p.Class.Handle); err != nil {
		return p, err
	}
	if err := s.fill(r, &p.grid, p.Class.Handle); err != nil {
		return p, err
	}
	all, err := s.Classes.ListTasks(r.Context(), r.Actor(), core.TaskFilter{Class: p.Class.Handle, Requester: r.Actor().Handle, Limit: exportRows})
	for _, t := range all {
		if _, err := school.Requestable().Find(t.Kind); err == nil {
			p.Tasks = append(p.Tasks, t)
		}
	}
	return p, err
}

// startOfClass starts a task from the gradebook's page, which shows errors.
func (s *staff) startOfClass(r *page.Request) error {
	p, err := s.gradebookPage(r)
	if err != nil {
		return err
	}
	f, err := typed(r)
	if err != nil {
		return err
	}
	t, err := s.start(r, core.ArgClass, p.Class.Handle, "", f)
	if err != nil {
		p.Forms = taskForms(core.ArgClass, f.Typed)
		return r.Again(err, "staff/gradebook", p)
	}
	return r.Redirect(taskPath(t.ID), "")
}
