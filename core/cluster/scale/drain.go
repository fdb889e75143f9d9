package scale

import (
	"time"

	"drover/core"
)

// A drained host's work is moved this long before its machine is ended, or a part of what is left.
const (
	moveBefore = 30 * time.Second
	movePart   = 4
)

// Reclaimed returns an instance whose provider takes its machine back at a moment (ms since 1970), as of now, and true if
// that changes it. One that has no host yet, or ends already, stays as it is.
func Reclaimed(i core.Instance, at, now int64) (core.Instance, bool) {
	const why = "its provider takes it back"
	switch {
	case i.State == core.InstanceJoined:
		i = moved(i, core.InstanceDraining, now, why)
		i.Reclaim, i.Deadline = true, at
		return i, true
	case i.State == core.InstanceDraining && !i.Reclaim:
		i.Reclaim, i.Deadline, i.Why = true, min(i.Deadline, at), why
		return i, true
	}
	return i, false
}

// DrainWish returns that the host of a draining instance is to finish what it has in hand, or, lifted, that it takes
// work again. What it still has once left is over goes to other hosts, before its machine is ended. The moment of the
// wish itself is not set.
func DrainWish(i core.Instance, lifted bool, now time.Time) (w core.HostWish, left time.Duration) {
	w = core.HostWish{Host: i.ID, Kind: core.WishDrain, Lifted: lifted, By: By, Reason: i.Why}
	if !lifted {
		left = time.UnixMilli(i.Deadline).Sub(now)
		left = max(time.Second, left-min(moveBefore, left/movePart))
		w.Until = now.Add(left).UnixMilli()
	}
	return w, left
}
