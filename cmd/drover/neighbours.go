package main

import (
	"context"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/cluster/recovery"
	"drover/core/config"
	"drover/core/service"
	"drover/core/worker/neighbour"
	"drover/testrunner"
)

// notes is the folder in which the owners of a host say which processes they are.
func notes(cfg *config.Config) string { return filepath.Join(cfg.Run, "owners") }

// spoolDir is where results of this host wait while the result store is down.
func spoolDir(cfg *config.Config) string { return filepath.Join(cfg.Data, "spool") }

// owners is where a role registers: its neighbours then know of its death at once.
func (s surroundings) owners() core.Owners {
	return neighbour.Owners{Owners: s.cluster.redis, Dir: notes(s.cluster.cfg), Notice: noticer(s.log)}
}

// neighbours looks after the other processes of this host.
func (h *cluster) neighbours(log logrus.FieldLogger) service.Service {
	watch := neighbour.Watch{Dir: notes(h.cfg), Notice: noticer(log), DeclareDead: func(ctx context.Context, owner string, epoch int64) error {
		// The store decides what becomes of a runner's slot: what that could not record goes there
		// first. Others leave nothing for the store, and need not wait for it.
		if role, _, err := core.ParseOwner(owner); err == nil && role == core.RoleTestrunner {
			if err := testrunner.Deliver(ctx, spoolDir(h.cfg), h.store, log); err != nil {
				return err
			}
		}
		_, err := recovery.DeclareDead(ctx, h.redis, h.store, owner, epoch, recovery.Options{MaxAttempts: h.cfg.MaxAttempts, MaxDeaths: maxDeaths(h.cfg)})
		return err
	}}
	return service.Service{Name: "neighbours", Run: watch.Run}
}

// noticer logs what concerns neighbours.
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
