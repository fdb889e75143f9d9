package wiring

import (
	"context"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/config"
	"drover/core/service"
	"drover/core/worker/neighbour"
	"drover/testrunner"
)

// notes returns the folder in which the owners of a host record their processes.
func notes(cfg *config.Config) string { return filepath.Join(cfg.Run, "owners") }

// spoolDir returns the folder for results of this host while the result store is down.
func spoolDir(cfg *config.Config) string { return filepath.Join(cfg.Data, "spool") }

// owners returns where a role registers, with a note by which its neighbours detect its death at once.
func (s Surroundings) owners() core.Owners {
	return neighbour.Owners{Owners: s.Cluster.Redis, Dir: notes(s.Cluster.Config), Notice: noticer(s.Log)}
}

// neighbours watches the other processes of this host.
func neighbours(h *access.Cluster, log logrus.FieldLogger) service.Service {
	watch := neighbour.Watch{Dir: notes(h.Config), Notice: noticer(log), DeclareDead: func(ctx context.Context, owner string, epoch int64) error {
		// The store decides the outcome of a testrunner's slot, so its spooled results must be recorded first. Other
		// roles spool nothing.
		if role, _, err := core.ParseOwner(owner); err == nil && role == core.RoleTestrunner {
			if err := testrunner.Deliver(ctx, spoolDir(h.Config), h.Store, log); err != nil {
				return err
			}
		}
		_, err := recovery.DeclareDead(ctx, h.Redis, h.Store, owner, epoch, recovery.Options{MaxAttempts: h.Config.MaxAttempts, MaxDeaths: maxDeaths(h.Config)})
		return err
	}}
	return service.Service{Name: "neighbours", Run: watch.Run}
}

// noticer logs notices about neighbours.
func noticer(log logrus.FieldLogger) neighbour.Notice {
	return func(owner, text string, err error) {
		entry := log.WithFields(nil)
		if owner != "" {
			entry = entry.WithField("about", owner)
		}
		if err != nil {
			entry = entry.WithError(err)
		}
		entry.Warn(text)
	}
}
