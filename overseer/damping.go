package overseer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
)

// dampingEvery is the interval between two looks at events; window is how long they are remembered.
const (
	dampingEvery = 5 * time.Second
	window       = 10 * time.Minute
)

// A host flaps if it went down so often within the window. It is a black hole if it had so many faults, they are so
// large a share of the ends there, and the share is so many times that of all other hosts together.
const (
	flapDowns   = 3
	holeFaults  = 5
	holeShare   = 0.2
	holeAgainst = 5
)

// A host on probation gets nothing for probationDelay, which doubles at each probation up to maxProbation. Then it
// gets canaries; so many good ones end the probation.
const (
	probationDelay  = 30 * time.Second
	maxProbation    = 10 * time.Minute
	probationNeeded = 3
)

// damper remembers recent events of hosts. A new overseer begins with what is left in the stream of events.
type damper struct {
	mu    sync.Mutex
	after string // the last event that was read
	marks []mark
}

// mark is what one read found about one host.
type mark struct {
	at   int64 // of the last event in it, ms
	host string
	tally
}

// tally counts events of a host.
type tally struct{ downs, faults, ends int }

func (t *tally) add(other tally) {
	t.downs += other.downs
	t.faults += other.faults
	t.ends += other.ends
}

// share is the share of faults in the ends on a host.
func (t tally) share() float64 { return float64(t.faults) / float64(max(1, t.faults+t.ends)) }

// damp puts hosts on probation that flap, or that fail far more work than the others.
func (o *Overseer) damp(ctx context.Context) (Counts, error) {
	counts := Counts{}
	tallies, err := o.damper.read(ctx, o.deps.History, o.now)
	if err != nil {
		return counts, err
	}
	hosts, err := o.deps.Hosts.ListHosts(ctx)
	if err != nil {
		return counts, err
	}
	var troubles []error
	for _, h := range hosts {
		why := suspicious(h.Name, hosts, tallies)
		if why == "" || h.Probation != nil {
			continue
		}
		delay := min(maxProbation, probationDelay<<min(h.Probations, 10))
		switch err := o.deps.Hosts.Probation(ctx, h.Name, why, delay, probationNeeded); core.CodeOf(err) {
		case "":
			counts["probations"]++
			o.log.WithField("host", h.Name).WithField("reason", why).Warn("a host is on probation: it gets one request at a time until some went well")
		case core.CodeNotFound:
			// It was forgotten in the meantime.
		default:
			troubles = append(troubles, err)
		}
	}
	return counts, errors.Join(troubles...)
}

// suspicious returns why a host is not to be trusted for a while; "" if it is.
func suspicious(name string, hosts []core.HostInfo, tallies map[string]tally) string {
	its, others, rest := tallies[name], 0, tally{}
	for _, h := range hosts {
		if h.Name != name {
			rest.add(tallies[h.Name])
			if h.State == core.HostUp && h.Ready {
				others++
			}
		}
	}
	switch {
	case its.downs >= flapDowns:
		return fmt.Sprintf("it went down %d times within %s", its.downs, window)
	case others > 0 && its.faults >= holeFaults && its.share() >= holeShare && its.share() >= holeAgainst*rest.share():
		return fmt.Sprintf("%d of the last %d requests that ended there had a fault of the platform, and %d of %d elsewhere",
			its.faults, its.faults+its.ends, rest.faults, rest.faults+rest.ends)
	}
	return ""
}

// read counts the new events, drops those that are older than the window, and returns the counts of each host.
func (d *damper) read(ctx context.Context, history History, clock func(context.Context) (time.Time, error)) (map[string]tally, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		events, err := history.Events(ctx, d.after)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			d.mark(e)
			d.after = e.ID
		}
	}
	now, err := clock(ctx) // read after the events: an event later than this was made before the clock was set back
	if err != nil {
		return nil, err
	}
	d.marks = slices.DeleteFunc(d.marks, func(m mark) bool {
		return m.at < now.Add(-window).UnixMilli() || m.at > now.UnixMilli()
	})
	known := make(map[string]tally)
	for _, m := range d.marks {
		t := known[m.host]
		t.add(m.tally)
		known[m.host] = t
	}
	return known, nil
}

// mark records what one event means for a host.
func (d *damper) mark(e core.Event) {
	host, t := e.Moved, tally{}
	switch e.Op {
	case "host down", "host failed":
		t.downs = 1
	case "host probation", "host trusted": // this ends what was counted before
		d.marks = slices.DeleteFunc(d.marks, func(m mark) bool { return m.host == host })
		return
	case "exchange", "revoke":
		_, at, err := core.ParseOwner(e.By)
		if err != nil || !strings.HasPrefix(e.By, string(core.RoleTestrunner)) {
			return
		}
		host, t = at, ended(e.Moved)
	}
	if t == (tally{}) {
		return
	}
	const together = 5000 // ms; as exact as it needs to be
	if n := len(d.marks); n > 0 && d.marks[n-1].host == host && d.marks[n-1].at <= e.At && e.At-d.marks[n-1].at < together {
		d.marks[n-1].tally.add(t)
		return
	}
	d.marks = append(d.marks, mark{e.At, host, t})
}

// ended counts the requests in the moves of an event: those that ended, listed by key alone, and those that a fault
// put back.
func ended(moved string) tally {
	var t tally
	for _, word := range strings.Fields(moved) {
		_, outcome, other := strings.Cut(word, "=")
		switch {
		case !other:
			t.ends++
		case strings.HasPrefix(outcome, string(core.OutcomeRetry)), core.Outcome(outcome).Fault():
			t.faults++
		}
	}
	return t
}
