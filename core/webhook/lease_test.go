package webhook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/webhook"
)

func TestLeaseNoted(t *testing.T) {
	t.Parallel()
	l := core.Lease{
		ID: "l", Name: "Übung", Class: "cs101", Submitters: []string{"SECRET"}, By: "SECRET", State: core.LeaseActive, Notify: []string{"w"},
		Start: 1_700_000_000_000, End: 1_700_003_600_000,
		Reservations: []core.Reservation{
			{
				Pools: []string{"p"}, Units: 3, State: core.ReservationActive, MissingResources: true,
				Allocations: []core.Allocation{{Host: "SECRET", Units: 2, State: core.AllocationHeld}, {Host: "h", Units: 1, State: core.AllocationLost}},
			},
			{Pools: []string{"p", "q"}, MinHosts: 1, MaxHosts: 2, State: core.ReservationActive, ResourcesChanged: true},
		},
		Events: []core.LeaseEvent{{Kind: core.EventStart, At: 1_700_000_000_000, State: core.EventDone}, {Kind: core.EventEnd, At: 1_700_003_600_000, State: core.EventUndone}},
		Log: []core.LeaseNote{
			{Number: 7, At: 5, Event: core.EventLeaseStarted, Text: "begun"},
			{Number: 8, At: 1_700_000_001_000, Event: core.EventLeaseDegraded, Text: "host h failed", By: "tom"},
		},
	}
	note, err := webhook.NoteOf(&l, core.EventLeaseDegraded, 8)
	require.NoError(t, err)
	body, err := webhook.LeaseNoted("d", &l, note)
	require.NoError(t, err)
	require.NotContains(t, string(body), "SECRET")
	require.JSONEq(t, `{
		"version": 1, "id": "d", "type": "lease.degraded", "timestamp": "2023-11-14T22:13:21Z",
		"data": {
			"id": "l", "name": "Übung", "class": "cs101", "state": "active", "degraded": true, "start": "2023-11-14T22:13:20Z", "end": "2023-11-14T23:13:20Z",
			"reservations": [
				{"pools": ["p"], "whole_hosts": false, "needed": 3, "held": 2, "state": "active", "missing_resources": true, "resources_changed": false},
				{"pools": ["p", "q"], "whole_hosts": true, "needed": 1, "held": 0, "state": "active", "missing_resources": false, "resources_changed": true}
			],
			"events": [
				{"kind": "start", "at": "2023-11-14T22:13:20Z", "state": "done"}, {"kind": "end", "at": "2023-11-14T23:13:20Z", "state": "undone"}
			],
			"number": 8, "note": "host h failed", "user": "tom"
		}
	}`, string(body))

	for _, gone := range []struct {
		event  string
		number int
	}{{core.EventLeaseDegraded, 7}, {core.EventLeaseStarted, 6}, {core.EventLeaseEnded, 9}} {
		_, err := webhook.NoteOf(&l, gone.event, gone.number)
		require.True(t, core.Is(err, core.CodeNotFound))
	}
}

// The largest lease makes no larger payload than others.
func TestLeasePayloadsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u2028", 10_000) + "\xff"
	name := strings.Repeat("a", core.MaxNameLen)
	l := core.Lease{ID: name, Name: long, Class: name}
	for range core.MaxLeaseReservations {
		r := core.Reservation{Units: 1}
		for range core.MaxLeasePools {
			r.Pools = append(r.Pools, name)
		}
		for range core.MaxLeaseUnits {
			r.Allocations = append(r.Allocations, core.Allocation{Host: name, Units: 1, State: core.AllocationHeld, Why: long})
		}
		l.Reservations = append(l.Reservations, r)
	}
	body, err := webhook.LeaseNoted("d", &l, core.LeaseNote{Event: core.EventLeaseFailed, Text: long, By: name})
	require.NoError(t, err)
	require.True(t, json.Valid(body))
	require.Less(t, len(body), 100<<10)
}
