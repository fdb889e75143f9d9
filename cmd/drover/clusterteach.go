package main

import (
	"context"
	"io"

	"drover/core"
	"drover/core/classes"
)

func (s *session) Enrol(ctx context.Context, class, user string, role core.UserRole) error {
	return s.reg.Enrol(ctx, s.actor, class, user, role)
}

func (s *session) Drop(ctx context.Context, class, user string) error {
	return s.reg.Drop(ctx, s.actor, class, user)
}

func (s *session) ImportRoster(ctx context.Context, class string, csv io.Reader, dry bool) (classes.Imported, error) {
	return s.reg.ImportRoster(ctx, s.actor, class, csv, dry)
}

func (s *session) Missing(ctx context.Context, class, assignment, after string, limit int) ([]classes.Absence, error) {
	return s.reg.Missing(ctx, s.actor, class, assignment, after, limit)
}

func (s *session) CreateAssignment(ctx context.Context, as core.Assignment) (core.Assignment, error) {
	return s.reg.CreateAssignment(ctx, s.actor, as)
}

func (s *session) EditAssignment(ctx context.Context, as core.Assignment) (core.Assignment, error) {
	return s.reg.EditAssignment(ctx, s.actor, as)
}

func (s *session) DeleteAssignment(ctx context.Context, class, handle string) (core.Task, error) {
	return s.reg.DeleteAssignment(ctx, s.actor, class, handle)
}

func (s *session) SetHarness(ctx context.Context, class, handle string, archive io.Reader) (core.Assignment, error) {
	return s.reg.SetHarness(ctx, s.actor, class, handle, archive)
}

func (s *session) RemoveHarness(ctx context.Context, class, handle string) (core.Assignment, error) {
	return s.reg.RemoveHarness(ctx, s.actor, class, handle)
}

func (s *session) PoolChoices(ctx context.Context, class string) ([]classes.PoolChoice, error) {
	return s.reg.PoolChoices(ctx, s.actor, class)
}

func (s *session) SetDeadline(ctx context.Context, own core.Deadline) error {
	return s.reg.SetDeadline(ctx, s.actor, own)
}

func (s *session) StartExperiment(ctx context.Context, class, assignment string, t classes.Trial) (core.Experiment, error) {
	return s.reg.StartExperiment(ctx, s.actor, class, assignment, t)
}

func (s *session) Experiments(ctx context.Context, class, assignment string, limit int) ([]core.Experiment, error) {
	return s.reg.Experiments(ctx, s.actor, class, assignment, limit)
}

func (s *session) ExperimentProgress(ctx context.Context, id string) (core.Experiment, core.TaskProgress, error) {
	return s.reg.ExperimentProgress(ctx, s.actor, id)
}

func (s *session) ViewExperiment(ctx context.Context, id string, p classes.OutcomePage) (classes.ExperimentView, error) {
	return s.reg.ViewExperiment(ctx, s.actor, id, p)
}

func (s *session) ApplyExperiment(ctx context.Context, id string) (classes.Applied, error) {
	return s.reg.ApplyExperiment(ctx, s.actor, id)
}

func (s *session) AbortExperiment(ctx context.Context, id string) (core.Experiment, error) {
	return s.reg.AbortExperiment(ctx, s.actor, id)
}
