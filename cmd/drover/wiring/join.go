package wiring

import (
	"context"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/cluster/join"
	"drover/core/config"
)

// joinService makes the service by which machines join the cluster. Without the setting host_config it hands out
// nothing.
func joinService(h *access.Cluster) *join.Service {
	s := h.Joins()
	if path := h.Config.HostConfig; path != "" {
		s.Settings = func() (join.Settings, error) { // read each time: passwords are changed while a site runs
			values, secrets, err := config.ReadForHosts(path)
			return join.Settings{Values: values, Secrets: secrets}, err
		}
	}
	return s
}

// joinSecret makes the token by which the host of an instance joins: for that host, and for as long as any token may
// be good, since a machine may take its time.
func joinSecret(joins *join.Service) func(context.Context, core.Instance) (string, error) {
	return func(ctx context.Context, i core.Instance) (string, error) {
		secret, _, err := joins.Issue(ctx, core.System(), join.Wish{Host: i.ID, Group: i.Group, Life: core.MaxJoinLife})
		return secret, err
	}
}
