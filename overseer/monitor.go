package overseer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
)

// Monitor reports changes of hosts. The setting monitors selects some. A monitor either polls or receives reports.
type Monitor interface {
	// Name is its name in the settings.
	Name() string
	// Every is the interval between two looks.
	Every() time.Duration
	// Look returns news, waiting up to wait if the monitor receives reports. News that was not acted on is returned
	// again, to this overseer or another.
	Look(ctx context.Context, wait time.Duration) ([]News, error)
	// Done confirms that news was acted on.
	Done(ctx context.Context, n News) error
}

// Kind is a change of a host.
type Kind string

// The kinds of news.
const (
	Lost      Kind = "lost"      // its heartbeats ended; it comes back by itself
	Failed    Kind = "failed"    // reported failed; it stays down until it is reported recovered
	Recovered Kind = "recovered" // reported recovered
)

// News is a monitor's report on a host.
type News struct {
	ID     string // the monitor's own id, for Done
	Host   string
	Kind   Kind
	By     string // who reported it
	Reason string
	At     int64 // ms, the server's clock
}

// monitorNames are all monitors' names, in the order of the chores.
var monitorNames = []string{"heartbeat", "provider", "report", "command"}

// watchWait is how long a monitor that receives reports may wait within one look; a stopping overseer waits as long
// for it. lookBatches bounds the looks of an overseer that runs once.
const (
	watchWait   = time.Second
	lookBatches = 64
)

// monitors makes the configured monitors, in the order of the chores.
func (o *Overseer) monitors() []Monitor {
	all := []Monitor{
		&heartbeat{hosts: o.deps.Hosts, suspect: o.late(o.cfg.Suspect), down: o.late(o.cfg.Down), every: o.cfg.JudgeEvery},
		&provider{hosts: o.deps.Hosts, now: o.now},
		&report{reports: o.deps.Reports},
	}
	if o.cfg.MonitorCommand != "" {
		all = append(all, newCommand(o.cfg.MonitorCommand, o.deps.Hosts, o.now))
	}
	return slices.DeleteFunc(all, func(m Monitor) bool { return !slices.Contains(o.cfg.Monitors, m.Name()) })
}

// watch is the chore of one monitor: it acts on news.
func (o *Overseer) watch(m Monitor) Chore {
	look := func(ctx context.Context, wait time.Duration, counts Counts) (int, error) {
		news, err := m.Look(ctx, wait)
		for _, n := range news {
			err = errors.Join(err, o.act(ctx, m, n, counts))
		}
		return len(news), err
	}
	return Chore{
		Name: "watch " + m.Name(), Every: cmp.Or(o.cfg.MonitorEvery[m.Name()], m.Every()),
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

// act carries out what news requires. News that is invalid or too late is only confirmed.
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
		select {
		case o.hostsOut <- struct{}{}: // leases are healed at once
		default:
		}
		log.Warn("a host is " + string(n.Kind))
	case core.CodeConflict: // it came back in the meantime
	case core.CodeNotFound, core.CodeInvalid:
		log.WithError(err).Warn("news of a host came to nothing")
	default:
		return err
	}
	return m.Done(ctx, n)
}
