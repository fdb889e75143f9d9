package operator

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"drover/cmd/drover/terminal"
	"drover/core"
)

// wantText is what a reservation asks for, for people.
func wantText(r *core.Reservation) string {
	pools := strings.Join(r.Pools, ",")
	text := fmt.Sprintf("%d of %s", r.Units, pools)
	if r.WholeHosts() {
		text = fmt.Sprintf("%d to %d whole hosts for %s", r.MinHosts, max(r.MinHosts, r.MaxHosts), pools)
		if r.MaxHosts <= r.MinHosts {
			text = fmt.Sprintf("%d whole hosts for %s", r.MinHosts, pools)
		}
	}
	switch r.Affinity {
	case core.AffinityNone:
	case core.AffinityTrue:
		text += ", together"
	case core.AffinityFalse:
		text += ", apart"
	}
	return terminal.Clean(text + terminal.Prefixed(", requires ", r.Requires))
}

// heldText is what a lease holds, for people.
func heldText(l *core.Lease) string {
	var parts []string
	for i := range l.Reservations {
		r := &l.Reservations[i]
		if r.State == core.ReservationDeleted && l.State.Open() { // it was removed
			continue
		}
		text := wantText(r)
		if r.Held() < r.Needs() && l.State.Open() {
			text += fmt.Sprintf(" (has %d)", r.Held())
		}
		parts = append(parts, text)
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing")
}

// allocationRows lists a lease's allocations; past ones with when and why they ended.
func allocationRows(l *core.Lease, past bool) (rows []table.Row) {
	for i := range l.Reservations {
		r := &l.Reservations[i]
		what := wantText(r)
		for _, a := range r.Allocations {
			units := fmt.Sprint(a.Units)
			if r.WholeHosts() {
				units = "all"
			}
			if !past {
				if a.State == core.AllocationHeld {
					rows = append(rows, table.Row{what, a.Host, units})
				}
				continue
			}
			rows = append(rows, table.Row{what, a.Host, units, a.State, terminal.Clean(a.Why)})
		}
	}
	return rows
}

// printLease prints a lease for people.
func printLease(w io.Writer, l *core.Lease, at *time.Location) error {
	rows := []table.Row{
		{"lease", l.ID},
		{"name", terminal.Clean(l.Name)},
		{"state", stateText(l)},
		{"start", terminal.ShowMoment(l.Start, at)},
		{"end", terminal.ShowMoment(l.End, at)},
		{"for", cmp.Or(holders(l), "nobody")},
		{"made by", terminal.Clean(l.By) + ", " + terminal.ShortMoment(l.Created, at)},
	}
	if l.BeforeEnd > 0 {
		rows = append(rows, table.Row{"notice", l.BeforeEnd.String() + " before its end"})
	}
	if l.Grace > 0 {
		rows = append(rows, table.Row{"grace", l.Grace.String() + " after its end"})
	}
	if len(l.Notify) > 0 {
		rows = append(rows, table.Row{"tells", "webhooks " + terminal.Clean(strings.Join(l.Notify, ", "))})
	}
	for i := range l.Reservations {
		r := &l.Reservations[i]
		rows = append(rows, table.Row{"reserves", fmt.Sprintf("%s: %s, has %d", wantText(r), r.State, r.Held())})
		if r.MissingResources {
			rows = append(rows, table.Row{"  missing", fmt.Sprintf("%d have no host; they get one as soon as one has room", r.Needs()-r.Held())})
		}
		if r.ResourcesChanged {
			rows = append(rows, table.Row{"  changed", "some moved, or came back, and their VMs are being made"})
		}
	}
	if err := terminal.PrintTable(w, "", table.Row{"", ""}, rows); err != nil {
		return err
	}
	var events, notes []table.Row
	for _, e := range l.Events {
		events = append(events, table.Row{e.Kind, terminal.ShortMoment(e.At, at), e.State, terminal.ShortMoment(e.Done, at), terminal.Clean(e.Why)})
	}
	for _, n := range l.Log {
		notes = append(notes, table.Row{terminal.ShortMoment(n.At, at), n.Event, terminal.Clean(n.Text), terminal.Clean(n.By)})
	}
	for _, part := range []struct {
		header table.Row
		rows   []table.Row
	}{
		{table.Row{"reserves", "on host", "units", "state", "why"}, allocationRows(l, true)},
		{table.Row{"event", "due", "state", "done", "why"}, events},
		{table.Row{"when", "what", "", "by"}, notes},
	} {
		if len(part.rows) == 0 {
			continue
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
		if err := terminal.PrintTable(w, "", part.header, part.rows); err != nil {
			return err
		}
	}
	return nil
}
