package overseer

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
)

// Monitor is a source of news of hosts. Each can be left out by the setting
// monitors. Some look for themselves, others are told.
type Monitor interface {
	// Name is what the settings call it.
	Name() string
	// Every is the rest between two looks.
	Every() time.Duration
	// Look returns what is new, waiting up to wait if it is one that is told.
	// News that was not acted on comes again, to this overseer or to another.
	Look(ctx context.Context, wait time.Duration) ([]News, error)
	// Done says that news was acted on.
	Done(ctx context.Context, n News) error
}

// Kind says what became of a host.
type Kind string

// The kinds of news.
const (
	Lost      Kind = "lost"      // its heartbeats ended; it comes back by itself
	Failed    Kind = "failed"    // somebody says so; it stays down until it is said to have recovered
	Recovered Kind = "recovered" // somebody says so
)

// News is what a monitor says of a host.
type News struct {
	ID     string // the monitor's own, for Done
	Host   string
	Kind   Kind
	By     string // who says so
	Reason string
	At     int64 // ms, the server's clock
}

// monitorNames are all monitors' names, in the order of the chores.
var monitorNames = []string{"heartbeat", "provider", "report"}

// watchWait is how long a monitor that is told may wait within one look; a stopping
// overseer waits as long for it. lookBatches bounds the looks of one that runs once.
const (
	watchWait   = time.Second
	lookBatches = 64
)

// monitors makes the monitors that the config names, in the order of the chores.
func (o *Overseer) monitors() []Monitor {
	all := []Monitor{
		&heartbeat{hosts: o.deps.Hosts, suspect: o.late(o.cfg.Suspect), down: o.late(o.cfg.Down), every: o.cfg.JudgeEvery},
		&provider{hosts: o.deps.Hosts, now: o.now},
		&report{reports: o.deps.Reports},
	}
	return slices.DeleteFunc(all, func(m Monitor) bool { return !slices.Contains(o.cfg.Monitors, m.Name()) })
}

// watch is the chore of one monitor: its news is acted on.
func (o *Overseer) watch(m Monitor) Chore {
	look := func(ctx context.Context, wait time.Duration, counts Counts) (int, error) {
		news, err := m.Look(ctx, wait)
		for _, n := range news {
			err = errors.Join(err, o.act(ctx, m, n, counts))
		}
		return len(news), err
	}
	return Chore{
		Name: "watch " + m.Name(), Every: m.Every(),
		Run: func(ctx context.Context) (Counts, error) {
			counts := Counts{}
			_, err := look(ctx, watchWait, counts)
			return counts, err
		},
		Whole: func(ctx context.Context) (Counts, error) {
			counts := Counts{}
			for range lookBatches {
				if n, err := look(ctx, 0, counts); err != nil || n == 0 {
					return counts, err
				}
			}
			return counts, nil
		},
	}
}

// act does what news asks for. What makes no sense, or comes too late, is done with.
func (o *Overseer) act(ctx context.Context, m Monitor, n News, counts Counts) error {
	log := o.log.WithFields(logrus.Fields{"host": n.Host, "by": n.By, "reason": n.Reason})
	var err error
	switch n.Kind {
	case Lost:
		err = o.deps.Hosts.Down(ctx, n.Host, o.late(o.cfg.Down))
	case Failed:
		err = o.failed(ctx, n)
	case Recovered:
		err = o.recovered(ctx, n)
	default:
		err = core.Errorf(core.CodeInvalid, n.Host, "%q is no news of a host", n.Kind)
	}
	switch core.CodeOf(err) {
	case "":
		counts["hosts_"+string(n.Kind)]++
		log.Warn("a host is " + string(n.Kind))
	case core.CodeConflict: // it came back meanwhile
	case core.CodeNotFound, core.CodeInvalid:
		log.WithError(err).Warn("news of a host came to nothing")
	default:
		return err
	}
	return m.Done(ctx, n)
}
