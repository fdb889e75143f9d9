package overseer

import (
	"context"
	"slices"

	"drover/core"
	"drover/core/cluster/placement"
)

// Planned is the new host of a request if its host were emptied now.
type Planned struct {
	Request  string        `json:"request"` // its key
	Pool     string        `json:"pool"`
	Priority core.Priority `json:"priority"`
	CPU      int64         `json:"cpu_milli"` // size of its VM: thousandths of a processor, 0 if the pool does not set it
	Memory   int64         `json:"memory_bytes"`
	Disk     int64         `json:"disk_bytes"`
	From     string        `json:"from"`  // the owner that holds it
	To       string        `json:"to"`    // "" if it fits nowhere
	Stays    bool          `json:"stays"` // its policy is to fail rather than run twice: it finishes where it is
}

// Preview returns where the work of a host would go, the most important first; work that stays comes last. Nothing is
// changed.
func (o *Overseer) Preview(ctx context.Context, host string) ([]Planned, error) {
	leaves, stays, err := o.inHand(ctx, host)
	if err != nil {
		return nil, err
	}
	rooms, _, err := o.deps.Evacuations.Rooms(ctx)
	if err != nil {
		return nil, err
	}
	rooms = slices.DeleteFunc(rooms, func(r core.Room) bool { return r.Host == host })
	plan := make([]Planned, 0, len(leaves)+len(stays))
	for _, l := range place(leaves, rooms) {
		p := l.planned()
		if p.To = l.item.To; p.To == core.Parked {
			p.To = ""
		}
		plan = append(plan, p)
	}
	slices.SortFunc(stays, func(a, b leaver) int { return placement.Need.Compare(a.need, b.need) })
	for _, l := range stays {
		p := l.planned()
		p.Stays = true
		plan = append(plan, p)
	}
	return plan, nil
}

func (l leaver) planned() Planned {
	return Planned{
		Request: l.need.Key, Pool: l.need.Pool, Priority: l.need.Priority,
		CPU: l.need.CPU, Memory: l.need.Memory, Disk: l.need.Disk, From: l.owner,
	}
}
