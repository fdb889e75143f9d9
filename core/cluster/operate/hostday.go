package operate

import (
	"context"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// Bounds of a page of hosts over time.
const (
	HostDaysPage    = 50
	hostDay         = 24 * time.Hour
	mostHostChanges = 200 // of one host that are read; what was before them is not known
)

// HostDay is a host over the last 24 hours.
type HostDay struct {
	Host      string    `json:"host"`
	Stretches []Stretch `json:"stretches"` // in order, without gaps between them
	Fell      int       `json:"fell"`      // how often it went down
}

// Stretch is a time in which a host stayed as it was.
type Stretch struct {
	From  int64          `json:"from_ms"`
	Until int64          `json:"until_ms"`
	State core.HostState `json:"state"` // "": not known
	Drain bool           `json:"drain,omitempty"`
}

// UpPart is which part of the time of which something is known the host was up, 0 to 1; 0 if nothing is known.
func (d HostDay) UpPart() float64 {
	var up, known int64
	for _, s := range d.Stretches {
		if s.State != "" {
			known += s.Until - s.From
		}
		if s.State == core.HostUp {
			up += s.Until - s.From
		}
	}
	return float64(up) / float64(max(1, known))
}

// HostDays returns a page of hosts over the last 24 hours, from the changes of state in the result store: those after
// a name, in order of name, at most HostDaysPage. Returns FORBIDDEN, UNAVAILABLE.
func (o *Service) HostDays(ctx context.Context, a core.Actor, after string) ([]HostDay, error) {
	v, err := o.Overview(ctx, a)
	if err != nil {
		return nil, err
	}
	until := o.now()
	first, found := slices.BinarySearchFunc(v.Hosts, after, func(h core.HostInfo, name string) int { return strings.Compare(h.Name, name) })
	if found {
		first++
	}
	all := []HostDay{}
	for i := range v.Hosts[first:min(first+HostDaysPage, len(v.Hosts))] {
		h := &v.Hosts[first+i]
		changes, err := o.Store.StateChanges(ctx, core.StateChangeFilter{Kind: core.EntityHost, Thing: h.Name, Limit: mostHostChanges})
		if err != nil {
			return nil, err
		}
		all = append(all, hostDayOf(h, changes, until.Add(-hostDay).UnixMilli(), until.UnixMilli()))
	}
	return all, nil
}

// hostDayOf goes back from how the host is now, through its changes, newest first.
func hostDayOf(h *core.HostInfo, changes []core.StateChange, from, until int64) HostDay {
	d := HostDay{Host: h.Name}
	now := Stretch{Until: until, State: h.State, Drain: h.Drain}
	before := func(i int) (state core.HostState) { // the state that change i ended
		for _, c := range changes[i+1:] {
			if c.State != "" {
				return core.HostState(c.State)
			}
		}
		return ""
	}
	add := func(at int64) {
		if at < now.Until {
			now.From = at
			d.Stretches = append(d.Stretches, now)
		}
		now.Until = at
	}
	for i, c := range changes {
		if c.At <= from {
			break
		}
		if c.At >= until {
			continue
		}
		switch {
		case c.State != "":
			add(c.At)
			now.State = before(i)
			if c.State == string(core.HostDown) {
				d.Fell++
			}
		case c.How == "drain" || c.How == "undrain":
			add(c.At)
			now.Drain = c.How == "undrain"
		}
	}
	add(from)
	slices.Reverse(d.Stretches)
	return d
}
