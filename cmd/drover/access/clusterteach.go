package access

import (
	"context"
	"io"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/school"
)

func (s *Session) Enrol(ctx context.Context, class, user string, role core.UserRole) error {
	return s.Reg.Enrol(ctx, s.Actor, class, user, role)
}

func (s *Session) Drop(ctx context.Context, class, user string) error {
	return s.Reg.Drop(ctx, s.Actor, class, user)
}

func (s *Session) ImportRoster(ctx context.Context, class string, csv io.Reader, opts classes.ImportOptions) (classes.Imported, error) {
	return s.Reg.ImportRoster(ctx, s.Actor, class, csv, opts)
}

func (s *Session) UndoImport(ctx context.Context, class string) (classes.Undone, error) {
	return s.Reg.UndoImport(ctx, s.Actor, class)
}

func (s *Session) Missing(ctx context.Context, class, assignment, after string, limit int) ([]classes.Absence, error) {
	return s.Reg.Missing(ctx, s.Actor, class, assignment, after, limit)
}

func (s *Session) CreateAssignment(ctx context.Context, as school.Assignment) (school.Assignment, error) {
	return s.Reg.CreateAssignment(ctx, s.Actor, as)
}

func (s *Session) EditAssignment(ctx context.Context, as school.Assignment) (school.Assignment, error) {
	return s.Reg.EditAssignment(ctx, s.Actor, as)
}

func (s *Session) DeleteAssignment(ctx context.Context, class, handle string) (core.Task, error) {
	return s.Reg.DeleteAssignment(ctx, s.Actor, class, handle)
}

func (s *Session) SetHarness(ctx context.Context, class, handle string, archive io.Reader) (school.Assignment, error) {
	return s.Reg.SetHarness(ctx, s.Actor, class, handle, archive)
}

func (s *Session) RemoveHarness(ctx context.Context, class, handle string) (school.Assignment, error) {
	return s.Reg.RemoveHarness(ctx, s.Actor, class, handle)
}

func (s *Session) PoolChoices(ctx context.Context, class string) ([]classes.PoolChoice, error) {
	return s.Reg.PoolChoices(ctx, s.Actor, class)
}

func (s *Session) SetDeadline(ctx context.Context, own school.Deadline) error {
	return s.Reg.SetDeadline(ctx, s.Actor, own)
}

func (s *Session) StartExperiment(ctx context.Context, class, assignment string, t classes.Trial) (school.Experiment, error) {
	return s.Reg.StartExperiment(ctx, s.Actor, class, assignment, t)
}

func (s *Session) Experiments(ctx context.Context, class, assignment string, limit int) ([]school.Experiment, error) {
	return s.Reg.Experiments(ctx, s.Actor, class, assignment, limit)
}

func (s *Session) ExperimentProgress(ctx context.Context, id string) (school.Experiment, core.TaskProgress, error) {
	return s.Reg.ExperimentProgress(ctx, s.Actor, id)
}

func (s *Session) ViewExperiment(ctx context.Context, id string, p classes.OutcomePage) (classes.ExperimentView, error) {
	return s.Reg.ViewExperiment(ctx, s.Actor, id, p)
}

func (s *Session) ApplyExperiment(ctx context.Context, id string) (classes.Applied, error) {
	return s.Reg.ApplyExperiment(ctx, s.Actor, id)
}

func (s *Session) AbortExperiment(ctx context.Context, id string) (school.Experiment, error) {
	return s.Reg.AbortExperiment(ctx, s.Actor, id)
}

// MakeLink makes a link at the cluster's site.
func (s *Session) MakeLink(ctx context.Context, user string, life time.Duration) (account.Link, error) {
	site, err := s.SiteOfCluster(ctx, s.notes)
	if err != nil {
		return account.Link{}, err
	}
	accounts, err := s.Accounts()
	if err != nil {
		return account.Link{}, err
	}
	l, err := accounts.MakeLink(ctx, s.Actor, user, life)
	return l.At(site), err
}

// MakeLinks makes links at the cluster's site.
func (s *Session) MakeLinks(ctx context.Context, of account.ClassLinks) (all []account.Link, next string, err error) {
	notes := s.notes
	if of.After != "" {
		notes = io.Discard // reported with the first page
	}
	site, err := s.SiteOfCluster(ctx, notes)
	if err != nil {
		return nil, "", err
	}
	accounts, err := s.Accounts()
	if err != nil {
		return nil, "", err
	}
	all, next, err = accounts.MakeLinks(ctx, s.Actor, of)
	for i := range all {
		all[i] = all[i].At(site)
	}
	return all, next, err
}

// Invite makes links at the cluster's site.
func (s *Session) Invite(ctx context.Context, of account.Invites) (account.Invited, error) {
	site, err := s.SiteOfCluster(ctx, s.notes)
	if err != nil {
		return account.Invited{}, err
	}
	accounts, err := s.Accounts()
	if err != nil {
		return account.Invited{}, err
	}
	made, err := accounts.Invite(ctx, s.Actor, of)
	for i := range made.Links {
		made.Links[i] = made.Links[i].At(site)
	}
	return made, err
}

// MailInvitations has links to the cluster's site mailed.
func (s *Session) MailInvitations(ctx context.Context, of account.Invites) (core.Task, error) {
	site, err := s.SiteOfCluster(ctx, s.notes)
	if err != nil {
		return core.Task{}, err
	}
	accounts, err := s.Accounts()
	if err != nil {
		return core.Task{}, err
	}
	return accounts.MailInvitations(ctx, s.Actor, of, site)
}
