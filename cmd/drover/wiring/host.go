package wiring

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"syscall"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/service"
)

// RunHostCommand is drover host run.
func RunHostCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "run what a host needs, a vmfactory and a testrunner, in one process", OnUsageError: terminal.UsageError,
		Description: "It drains at the first signal and stops at the second, as either of them does by itself.",
		Flags: terminal.WithSettings([]cli.Flag{
			&cli.StringFlag{Name: "while", Usage: "end at once when the program that listens on the unix socket `PATH` is gone"},
			&cli.BoolFlag{Name: "throwaway", Usage: "destroy the VMs when it stops, make none that outlive it, and run no self-test", DisableDefaultText: true},
		}, "testrunner", "vmfactory"),
		Action: joined(serveHost),
	}
}

// RunHost runs what a host needs until a signal, for another command.
func RunHost(c *cli.Context) error { return asPart(serveHost).run(c) }

func serveHost(c *cli.Context, h *access.Cluster, signals *service.Signals) (err error) {
	log, err := terminal.NewLog(h.Config, c.App.ErrWriter)
	if err != nil {
		return err
	}
	if at := c.String("while"); at != "" {
		if err := endWith(c.Context, at); err != nil {
			return err
		}
	}
	metrics := newMetrics(h)
	s := Surroundings{Cluster: h, Log: log, Metrics: metrics, embedded: c.Bool("throwaway")}
	var roles []Role
	defer func() {
		for _, r := range roles {
			err = errors.Join(err, r.end())
		}
	}()
	_, factory, err := newFactory(c.Context, s, nil)
	if err != nil {
		return err
	}
	roles = append(roles, factory)
	runner, err := newTestrunner(c.Context, s)
	if err != nil {
		return err
	}
	roles = append(roles, runner)
	checks, services := map[string]service.Check{}, []service.Service{h.Ledger()}
	for _, r := range roles {
		maps.Copy(checks, r.checks)
		services = append(services, r.services()...)
	}
	if !s.embedded { // else it has none
		services = append(services, neighbours(h, log))
	}
	ops, err := opsServices(h.Config, "vmfactory", checks, metrics, log)
	if err != nil {
		return err
	}
	log.WithFields(logrus.Fields{"host": h.Config.Host}).Info("the host is starting")
	err = signals.Run(c.Context, h.Config.Drain, func(text string) { log.Info(text) }, append(services, ops...)...)
	log.Info("the host has stopped")
	return err
}

// endWith kills this process when the one that listens on a unix socket is gone, however that ended: VMs that die with
// this process do so, too.
func endWith(ctx context.Context, socket string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return core.Wrap(err, core.CodeUnavailable, socket, "nobody listens on %s", socket)
	}
	go func() {
		_, _ = io.Copy(io.Discard, conn) // until it is closed
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	return nil
}
