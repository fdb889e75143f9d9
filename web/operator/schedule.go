package operator

import (
	"encoding/json"
	"time"

	"drover/core"
	"drover/core/cluster/schedule"
	"drover/web/page"
)

// kinds are what schedules can make.
var kinds = []string{core.KindPurge, core.KindArchive, core.KindAssignmentCSV, core.KindGradebook}

// schedulesData is what the page of schedules shows.
type schedulesData struct {
	All   []scheduleRow
	Kinds []string
	Form  map[string]string // as it was filled in
}

type scheduleRow struct {
	core.Schedule

	Next int64 // ms; 0 for a paused one
}

func (s *pages) schedulesData(r *page.Request) (schedulesData, error) {
	all, err := s.Classes.Schedules(r.Context(), r.Actor())
	d := schedulesData{Kinds: kinds, Form: make(map[string]string)}
	for _, name := range []string{"name", "cron", "kind", "of", "keep", "fill", "paused"} {
		d.Form[name] = r.FormValue(name)
	}
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

// scheduledArgs are the arguments of the task that the form describes; nil for none.
func (s *pages) scheduledArgs(r *page.Request, kind string) (json.RawMessage, error) {
	var args any
	switch kind {
	case core.KindPurge:
		text := r.FormValue("keep")
		if text == "" {
			return nil, nil // the cluster's own setting counts
		}
		keep, err := time.ParseDuration(text)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "keep", "%s", r.T("%q is no length of time: write one such as 10m, or leave it empty.", text))
		}
		args = core.PurgeArgs{Keep: keep}
	case core.KindArchive, core.KindAssignmentCSV:
		as, err := s.Classes.FindAssignment(r.Context(), r.Actor(), r.FormValue("of"))
		if err != nil {
			return nil, mistyped(err)
		}
		args = core.ArchiveArgs{Class: as.Class, Assignment: as.Handle}
		if kind == core.KindAssignmentCSV {
			args = core.AssignmentCSVArgs{Class: as.Class, Assignment: as.Handle, Header: true}
		}
	case core.KindGradebook:
		class, err := s.Classes.FindClass(r.Context(), r.Actor(), r.FormValue("of"))
		if err != nil {
			return nil, mistyped(err)
		}
		args = core.GradebookArgs{Class: class.Handle, Fill: r.FormValue("fill")}
	default:
		return nil, nil // the classes service says which kinds there are
	}
	raw, err := json.Marshal(args)
	return raw, core.Wrap(err, core.CodeInternal, kind, "the arguments of %s cannot be written", kind)
}

// mistyped makes what a form names and is not there a mistake in the form.
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
	return r.Redirect("/cluster/schedules", r.T("Schedule %s has made task %s.", name, t.ID))
}

func (s *pages) removeSchedule(r *page.Request) error {
	name := r.PathValue("name")
	if err := s.Classes.RemoveSchedule(r.Context(), r.Actor(), name); err != nil {
		return err
	}
	return r.Redirect("/cluster/schedules", r.T("Schedule %s is removed; what it made stays.", name))
}
