package classes

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"drover/core"
	"drover/core/cluster/schedule"
	"drover/core/school"
)

// Schedules lists all schedules, in order of name. Returns FORBIDDEN.
func (r *Service) Schedules(ctx context.Context, a core.Actor) ([]core.Schedule, error) {
	if err := core.Allow(a, core.ActSchedule, core.Object{}); err != nil {
		return nil, err
	}
	return r.Store.ListSchedules(ctx)
}

// SetSchedule creates a schedule, or changes the one with its name. The files that its tasks make are the actor's,
// who needs the right to them now and when fetching them. Returns FORBIDDEN, NOTFOUND, INVALID, LIMIT, CONFLICT.
func (r *Service) SetSchedule(ctx context.Context, a core.Actor, s core.Schedule) (core.Schedule, error) {
	old, err := r.schedule(ctx, a, s.Name)
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return core.Schedule{}, err
	}
	if err := r.checkScheduled(ctx, a, &s); err != nil {
		return core.Schedule{}, err
	}
	s.Priority, s.Requester = cmp.Or(s.Priority, core.PriorityLow), ""
	if s.About != "" {
		s.Requester = a.Handle
	}
	s.Since, s.Last, s.Revision = r.now().UnixMilli(), old.Last, old.Revision
	if s.Cron == old.Cron && s.Paused == old.Paused {
		s.Since = old.Since
	}
	if _, err := schedule.Parse(s.Cron); err != nil {
		return core.Schedule{}, err
	}
	if err := s.Check(); err != nil {
		return core.Schedule{}, err
	}
	text, changed := scheduleSentence(old, s)
	if !changed {
		return old, nil
	}
	entry := core.AuditEntry{Action: core.ActSchedule, Class: of(s.About), Subject: s.Name, Text: text}
	err = r.change(ctx, a, entry, func() (err error) {
		s.Revision, err = r.Store.PutSchedule(ctx, s)
		return err
	})
	return s, err
}

// scheduleSentence describes the changes, and reports whether there are any.
func scheduleSentence(old, s core.Schedule) (text string, changed bool) {
	if old.Revision == 0 {
		return fmt.Sprintf("makes schedule %s: %s at %q%s", s.Name, s.Kind, s.Cron, concerning(s.About)), true
	}
	var d diff
	d.note("times", old.Cron, s.Cron)
	d.note("kind", old.Kind, s.Kind)
	d.note("about", old.About, s.About)
	d.note("arguments", string(old.Args), string(s.Args))
	d.note("priority", old.Priority, s.Priority)
	d.note("requester", old.Requester, s.Requester)
	d.note("paused", old.Paused, s.Paused)
	return d.sentence("schedule " + s.Name), len(d) > 0
}

func concerning(about string) string {
	if about == "" {
		return ""
	}
	return ", about " + about
}

// checkScheduled checks the task of a schedule as if it were started now, and sets what it is about.
func (r *Service) checkScheduled(ctx context.Context, a core.Actor, s *core.Schedule) error {
	k, err := school.Schedulable().Find(s.Kind)
	if err != nil {
		return core.Errorf(core.CodeInvalid, s.Name, "a schedule cannot make a task %.40q: only %s", s.Kind, strings.Join(school.Schedulable().Names(), ", "))
	}
	target, err := r.mayStart(ctx, a, &k, s.Args)
	s.About = target.About()
	return err
}

// RemoveSchedule removes a schedule; its tasks stay. Returns FORBIDDEN, NOTFOUND.
func (r *Service) RemoveSchedule(ctx context.Context, a core.Actor, name string) error {
	s, err := r.schedule(ctx, a, name)
	if err != nil {
		return err
	}
	entry := core.AuditEntry{Action: core.ActSchedule, Class: of(s.About), Subject: name, Text: "removes schedule " + name}
	return r.change(ctx, a, entry, func() error { return r.Store.DeleteSchedule(ctx, name) })
}

// RunSchedule makes a schedule's task now, unless its last one has not ended. Returns FORBIDDEN, NOTFOUND, CONFLICT.
func (r *Service) RunSchedule(ctx context.Context, a core.Actor, name string) (core.Task, error) {
	s, err := r.schedule(ctx, a, name)
	if err != nil {
		return core.Task{}, err
	}
	var task core.Task
	entry := core.AuditEntry{Action: core.ActSchedule, Class: of(s.About), Subject: name, Text: "runs schedule " + name + " now"}
	err = r.change(ctx, a, entry, func() error {
		t, created, err := r.Intake.SubmitTask(ctx, core.Task{
			ID: r.newID(), Kind: s.Kind, Args: s.Args, Priority: s.Priority, Requester: s.Requester, About: s.About, Unique: "schedule:" + name,
		})
		if err == nil && !created {
			return core.Errorf(core.CodeConflict, name, "the last task of schedule %s has not ended yet", name)
		}
		task = t
		return err
	})
	return task, err
}

// schedule returns a schedule by its name.
func (r *Service) schedule(ctx context.Context, a core.Actor, name string) (core.Schedule, error) {
	all, err := r.Schedules(ctx, a)
	if err != nil {
		return core.Schedule{}, err
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return core.Schedule{}, core.Errorf(core.CodeNotFound, name, "there is no schedule %.80q", name)
}
