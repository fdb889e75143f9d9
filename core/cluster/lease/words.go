package lease

import (
	"fmt"
	"strings"

	"drover/core"
)

// describe says what reservations reserve.
func describe(all []core.Reservation) string {
	var parts []string
	for i := range all {
		r := &all[i]
		switch pools := strings.Join(r.Pools, ", "); {
		case r.State == core.ReservationDeleted:
		case !r.WholeHosts():
			parts = append(parts, fmt.Sprintf("%d of pool %s", r.Units, pools))
		case r.MaxHosts > r.MinHosts:
			parts = append(parts, fmt.Sprintf("%d to %d hosts for pool %s", r.MinHosts, r.MaxHosts, pools))
		default:
			parts = append(parts, fmt.Sprintf("%d hosts for pool %s", r.MinHosts, pools))
		}
	}
	return strings.Join(parts, " and ")
}

// holders says who uses a lease.
func holders(l core.Lease) string {
	parts := append([]string(nil), l.Submitters...)
	if l.Class != "" {
		parts = append([]string{"class " + l.Class}, parts...)
	}
	const most = 5
	if len(parts) > most {
		parts = append(parts[:most], fmt.Sprintf("%d others", len(parts)-most))
	}
	return strings.Join(parts, ", ")
}
