package operator

import (
	"encoding/json"
	"net/http"
	"slices"

	"drover/core"
	"drover/core/cluster/schedule"
	"drover/core/school"
	"drover/web/page"
)

// schedulesData is what the page of schedules shows.
type schedulesData struct {
	All   []scheduleRow
	Kinds core.TaskKinds
	Args  []argField
	Form  map[string]string // as it was filled in
}

type scheduleRow struct {
	core.Schedule

	Next int64 // ms; 0 for a paused one
}

func (s *pages) schedulesData(r *page.Request) (schedulesData, error) {
	all, err := s.Classes.Schedules(r.Context(), r.Actor())
	d := schedulesData{Kinds: school.Schedulable(), Form: make(map[string]string)}
	for _, name := range []string{"name", "cron", "kind", "of", "paused"} {
		d.Form[name] = r.FormValue(name)
	}
	d.Args = argFields(r, d.Kinds)
	for _, one := range all {
		row := scheduleRow{Schedule: one}
		if times, err := schedule.Parse(one.Cron); err == nil && !one.Paused {
			for _, next := range times.Next(r.Now(), 1) {
				row.Next = next.UnixMilli()
			}
		}
		d.All = append(d.All, row)
	}
	return d, err
}

func (s *pages) schedules(r *page.Request) error {
	d, err := s.schedulesData(r)
	if err != nil {
		return err
	}
	return r.Render("operator/schedules", d)
}

func (s *pages) setSchedule(r *page.Request) error {
	made := core.Schedule{
		Name: r.FormValue("name"), Cron: r.FormValue("cron"), Kind: r.FormValue("kind"), Paused: r.FormValue("paused") == "yes",
	}
	err := core.Allow(r.Actor(), core.ActSchedule, core.Object{})
	if err == nil {
		err = core.CheckName("schedule", made.Name)
	}
	if err == nil {
		made.Args, err = s.scheduledArgs(r, made.Kind)
	}
	if err == nil {
		_, err = s.Classes.SetSchedule(r.Context(), r.Actor(), made)
	}
	if err == nil {
		return r.Redirect("/cluster/schedules", r.T("Schedule %s is set.", made.Name))
	}
	d, missing := s.schedulesData(r)
	if missing != nil {
		return err
	}
	return r.Again(err, "operator/schedules", d)
}

// argField is an argument of some kinds, in the form.
type argField struct {
	core.TaskArg

	Of    string // the kinds that have it
	Value string
}

// argFields returns the arguments of all kinds, each once, as they were filled in.
func argFields(r *page.Request, kinds core.TaskKinds) []argField {
	var all []argField
	for i := range kinds {
		for _, a := range kinds[i].Options() {
			at := slices.IndexFunc(all, func(f argField) bool { return f.TaskArg == a })
			if at >= 0 {
				all[at].Of += ", " + kinds[i].Name
				continue
			}
			f := argField{TaskArg: a, Of: kinds[i].Name, Value: a.Default}
			if r.Method == http.MethodPost {
				f.Value = r.PostFormValue(a.Flag())
			}
			all = append(all, f)
		}
	}
	return all
}

// scheduledArgs returns the arguments of the task in the form.
func (s *pages) scheduledArgs(r *page.Request, kind string) (json.RawMessage, error) {
	k, err := school.Schedulable().Find(kind)
	if err != nil {
		return nil, nil //nolint:nilerr // the classes service says which kinds there are
	}
	texts := map[string]string{}
	for _, a := range k.Options() {
		texts[a.Flag()] = r.PostFormValue(a.Flag())
	}
	switch k.About() {
	case core.ArgAssignment:
		as, err := s.Classes.FindAssignment(r.Context(), r.Actor(), r.FormValue("of"))
		if err != nil {
			return nil, mistyped(err)
		}
		texts["class"], texts["assignment"] = as.Class, as.Handle
	case core.ArgClass:
		class, err := s.Classes.FindClass(r.Context(), r.Actor(), r.FormValue("of"))
		if err != nil {
			return nil, mistyped(err)
		}
		texts["class"] = class.Handle
	default:
	}
	return k.Write(texts)
}

// mistyped turns a NOTFOUND for something named in the form into a mistake in the form.
func mistyped(err error) error {
	if core.Is(err, core.CodeNotFound) {
		return core.Errorf(core.CodeInvalid, "of", "%s", err)
	}
	return err
}

func (s *pages) runSchedule(r *page.Request) error {
	name := r.PathValue("name")
	t, err := s.Classes.RunSchedule(r.Context(), r.Actor(), name)
	if err != nil {
		return err
	}
	return r.Redirect("/cluster/schedules", r.T("Schedule %s has created task %s.", name, t.ID))
}

func (s *pages) removeSchedule(r *page.Request) error {
	name := r.PathValue("name")
	if err := s.Classes.RemoveSchedule(r.Context(), r.Actor(), name); err != nil {
		return err
	}
	return r.Redirect("/cluster/schedules", r.T("Schedule %s was removed; its tasks stay.", name))
}
