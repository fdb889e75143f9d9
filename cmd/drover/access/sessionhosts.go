package access

import (
	"context"

	"drover/core"
	"drover/core/cluster/join"
	"drover/core/cluster/operate"
	"drover/examples"
)

// ListHostGroups lists host groups, as a backend does.
func (s *Session) ListHostGroups(ctx context.Context) ([]operate.Group, error) {
	return s.Operate().Groups(ctx, s.Actor)
}

// ViewHostGroup returns a host group, as a backend does.
func (s *Session) ViewHostGroup(ctx context.Context, name string) (operate.Group, error) {
	return s.Operate().Group(ctx, s.Actor, name)
}

// SetHostGroup makes or changes a host group, as a backend does.
func (s *Session) SetHostGroup(ctx context.Context, g core.HostGroup) (core.HostGroup, error) {
	return s.Operate().SetGroup(ctx, s.Actor, g)
}

// PauseHostGroup pauses a host group or ends that, as a backend does.
func (s *Session) PauseHostGroup(ctx context.Context, name string, paused bool) error {
	return s.Operate().PauseGroup(ctx, s.Actor, name, paused)
}

// RemoveHostGroup removes a host group, as a backend does.
func (s *Session) RemoveHostGroup(ctx context.Context, name string) error {
	return s.Operate().RemoveGroup(ctx, s.Actor, name)
}

// ListInstances lists machines of host groups, as a backend does.
func (s *Session) ListInstances(ctx context.Context, f core.InstanceFilter) ([]core.Instance, error) {
	return s.Operate().Instances(ctx, s.Actor, f)
}

// ViewInstance returns a machine of a host group, as a backend does.
func (s *Session) ViewInstance(ctx context.Context, id string) (core.Instance, error) {
	return s.Operate().Instance(ctx, s.Actor, id)
}

// TerminateInstance ends a machine of a host group, as a backend does.
func (s *Session) TerminateInstance(ctx context.Context, id string, now bool) (core.Instance, error) {
	return s.Operate().Terminate(ctx, s.Actor, id, now)
}

// ListJoinTokens lists join tokens, as a backend does.
func (s *Session) ListJoinTokens(ctx context.Context) ([]core.JoinToken, error) {
	return s.Joins().Tokens(ctx, s.Actor)
}

// MakeJoinToken makes a join token, as a backend does.
func (s *Session) MakeJoinToken(ctx context.Context, w join.Wish) (string, core.JoinToken, error) {
	secret, t, err := s.Joins().Issue(ctx, s.Actor, w)
	return secret, join.Shown(t), err
}

// RevokeJoinToken revokes a join token, as a backend does.
func (s *Session) RevokeJoinToken(ctx context.Context, id string) error {
	return s.Joins().Revoke(ctx, s.Actor, id)
}

// SiteAddress returns where the cluster's site is, or a made-up address if that is not known.
func (s *Session) SiteAddress(ctx context.Context) string {
	if at, err := s.SiteOfCluster(ctx, s.notes); err == nil {
		return at.String()
	}
	return examples.SiteURL
}

// SiteAddress returns where the site is.
func (s site) SiteAddress(context.Context) string { return s.Server }
