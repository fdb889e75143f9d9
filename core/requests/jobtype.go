package requests

import (
	"context"
	"fmt"
	"io"

	"drover/core"
)

// JobTypes lists the job types that the actor may use, by name; all of them for an actor who may look at the cluster.
// Returns FORBIDDEN.
func (d *Service) JobTypes(ctx context.Context, a core.Actor) ([]core.JobType, error) {
	if err := d.mayLook(a); err != nil {
		return nil, err
	}
	all, err := d.Store.JobTypes(ctx)
	mine := []core.JobType{}
	for _, t := range all {
		if shows(a, t) {
			mine = append(mine, bare(a, t))
		}
	}
	return mine, err
}

// JobType returns a job type that the actor may use or look at. Returns NOTFOUND, FORBIDDEN.
func (d *Service) JobType(ctx context.Context, a core.Actor, name string) (core.JobType, error) {
	if err := d.mayLook(a); err != nil {
		return core.JobType{}, err
	}
	if err := core.CheckName("job type", name); err != nil {
		return core.JobType{}, err
	}
	t, err := d.Store.GetJobType(ctx, name)
	if err == nil && !shows(a, t) {
		err = core.NoJobType(name)
	}
	if err != nil {
		return core.JobType{}, err
	}
	return bare(a, t), nil
}

// mayLook returns FORBIDDEN unless the actor may make requests or look at the cluster.
func (d *Service) mayLook(a core.Actor) error {
	if watches(a) {
		return nil
	}
	return core.Allow(a, core.ActRequestCreate, core.Object{})
}

// shows reports whether the actor may know of a type.
func shows(a core.Actor, t core.JobType) bool { return watches(a) || t.Takes(a.Handle) }

// bare removes from a type what only operators may know: the values of variables may be secrets.
func bare(a core.Actor, t core.JobType) core.JobType {
	if core.Allow(a, core.ActClusterOperate, core.Object{}) == nil {
		return t
	}
	t.Env, t.Submitters = names(t.Env), nil
	return t
}

// SetJobType creates a job type or replaces its settings. SetTypeHarness gives it
// a harness. Returns FORBIDDEN, INVALID, LIMIT, NOTFOUND for its pool, UNAVAILABLE.
func (d *Service) SetJobType(ctx context.Context, a core.Actor, t core.JobType) (core.JobType, error) {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
		return core.JobType{}, err
	}
	if err := d.Intake.CheckType(ctx, t); err != nil {
		return core.JobType{}, err
	}
	text := fmt.Sprintf("sets job type %s in pool %s", t.Name, t.Pool)
	return t, d.change(ctx, a, core.ActClusterOperate, t.Name, text, func() error { return d.Store.PutJobType(ctx, t) })
}

// SetTypeHarness gives a job type the harness in an archive, which replaces a command. Returns FORBIDDEN, NOTFOUND,
// INVALID, LIMIT, UNAVAILABLE.
func (d *Service) SetTypeHarness(ctx context.Context, a core.Actor, name string, archive io.Reader) (core.JobType, error) {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
		return core.JobType{}, err
	}
	t, err := d.JobType(ctx, a, name)
	if err != nil {
		return core.JobType{}, err
	}
	pool, err := d.Cluster.GetPool(ctx, t.Pool)
	if err != nil {
		return core.JobType{}, err
	}
	var s core.Spec
	if _, err := d.keepHarness(ctx, &s, archive, roomIn(a, t.Limits.Or(pool.Limits).Disk)); err != nil {
		return core.JobType{}, err
	}
	t.Harness, t.Input, t.Command, t.Collect = s.Harness, s.Input, nil, nil
	return d.SetJobType(ctx, a, t)
}

// DeleteJobType deletes a job type; requests that were submitted with it are not affected. Returns FORBIDDEN, NOTFOUND.
func (d *Service) DeleteJobType(ctx context.Context, a core.Actor, name string) error {
	if err := core.Allow(a, core.ActClusterOperate, core.Object{}); err != nil {
		return err
	}
	if err := core.CheckName("job type", name); err != nil {
		return err
	}
	return d.change(ctx, a, core.ActClusterOperate, name, "deletes job type "+name, func() error { return d.Store.DeleteJobType(ctx, name) })
}

// typed fills a spec from the type that it names. Returns INVALID if it exceeds the type, and the errors of typeOf.
func (d *Service) typed(ctx context.Context, s core.Spec) (core.Spec, error) {
	if s.Type == "" {
		return s, nil
	}
	t, err := d.typeOf(ctx, &s)
	if err != nil {
		return s, err
	}
	return s, t.Apply(&s).First()
}

// typeOf returns the type that a spec names. Returns NOTFOUND, also for a type that the submitter may not use.
func (d *Service) typeOf(ctx context.Context, s *core.Spec) (core.JobType, error) {
	if err := core.CheckName("job type", s.Type); err != nil {
		return core.JobType{}, err
	}
	t, err := d.Store.GetJobType(ctx, s.Type)
	if err == nil && !t.Takes(s.Submitter) {
		err = core.NoJobType(s.Type)
	}
	return t, err
}
