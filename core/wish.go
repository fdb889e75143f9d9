package core

import (
	"context"
	"time"
)

// WishKind says what a HostWish wants.
type WishKind string

// The kinds of wishes. A host has at most one of each.
const (
	WishDrain     WishKind = "drain"     // it takes no new work
	WishFailed    WishKind = "failed"    // it is down, whatever it says itself
	WishProbation WishKind = "probation" // it gets one request at a time until enough went well
)

// HostWish is what an operator or a monitor wants of a host. The result store keeps it, because
// Redis may be wiped or set back: a host that was drained takes no work after that.
type HostWish struct {
	Host   string   `json:"host"`
	Kind   WishKind `json:"kind"`
	Lifted bool     `json:"lifted,omitempty"` // it is wanted no more; kept, so that an older wish that comes late is known to be older
	By     string   `json:"by,omitempty"`
	Reason string   `json:"reason,omitempty"`
	At     int64    `json:"at_ms"`              // since when it stands as it does, ms since 1970
	Until  int64    `json:"until_ms,omitempty"` // of a drain: when what the host has in hand goes elsewhere, 0: never; of a probation: before, it gets nothing
	Needed int      `json:"needed,omitempty"`   // of a probation: so many requests in a row that went well end it
}

// After returns the moment at which a wish is made that takes the place of another one: now, or
// just after that one if it was made by a clock that is ahead.
func (w HostWish) After(now time.Time) int64 { return max(now.UnixMilli(), w.At+1) }

// FindWish returns a host's wish of a kind, and whether it has one.
func FindWish(its []HostWish, kind WishKind) (HostWish, bool) {
	for _, w := range its {
		if w.Kind == kind {
			return w, true
		}
	}
	return HostWish{}, false
}

// HostWishes keeps what is wanted of hosts.
type HostWishes interface {
	// PutHostWish keeps a wish in place of its host's former one of that kind. If that one is
	// younger it stays, and the answer is false. Returns INVALID, and LIMIT if there are
	// MaxHostWishes already.
	PutHostWish(ctx context.Context, w HostWish) (bool, error)
	// HostWishes lists a host's wishes, or all hosts' for "", in order of host and kind, the
	// lifted ones too.
	HostWishes(ctx context.Context, host string) ([]HostWish, error)
	// ForgetHostWishes removes all wishes of a host and returns how many there were.
	ForgetHostWishes(ctx context.Context, host string) (int, error)
}

// MaxHostWishes bounds the wishes of a cluster.
const MaxHostWishes = 3000
