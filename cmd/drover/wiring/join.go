package wiring

import (
	"drover/cmd/drover/access"
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
