package core

import (
	"cmp"
	"context"
	"time"
)

// WishKind is what a HostWish asks for.
type WishKind string

// The kinds of wishes. A host has at most one of each.
const (
	WishDrain     WishKind = "drain"     // it takes no new work
	WishFailed    WishKind = "failed"    // it is down, whatever it reports itself
	WishProbation WishKind = "probation" // it gets one request at a time until enough went well
	WishSettings  WishKind = "settings"  // its labels, reserve and overcommit
)

// HostWish is what an operator or a monitor wants of a host. The result store keeps it because Redis may be wiped or
// set back: a drained host must not take work after that.
type HostWish struct {
	Host   string   `json:"host"`
	Kind   WishKind `json:"kind"`
	Lifted bool     `json:"lifted,omitempty"` // the wish is withdrawn; the record stays, so that a delayed older wish is recognized as older
	By     string   `json:"by,omitempty"`
	Reason string   `json:"reason,omitempty"`
	At     int64    `json:"at_ms"`              // since when the wish stands, ms since 1970
	Until  int64    `json:"until_ms,omitempty"` // of a drain: when claimed work goes elsewhere, 0: never; of a probation: until then the host gets nothing
	Needed int      `json:"needed,omitempty"`   // of a probation: how many requests in a row must go well to end it

	Settings *HostSettings `json:"settings,omitempty"` // of settings: what they are; nil: the defaults
}

// After returns the time of a new wish that replaces w: now, or just after w.At if the clock that made w was ahead.
func (w HostWish) After(now time.Time) int64 { return max(now.UnixMilli(), w.At+1) }

// FindWish returns a host's wish of a kind, and whether there is one.
func FindWish(its []HostWish, kind WishKind) (HostWish, bool) {
	for _, w := range its {
		if w.Kind == kind {
			return w, true
		}
	}
	return HostWish{}, false
}

// HostWishes keeps the wishes for hosts.
type HostWishes interface {
	// PutHostWish replaces a host's former wish of that kind. If the former one is younger it stays, and PutHostWish
	// returns false. Returns INVALID, and LIMIT if there are MaxHostWishes already.
	PutHostWish(ctx context.Context, w HostWish) (bool, error)
	// HostWishes lists a host's wishes, or for "" those of all hosts, in order of host and kind, including withdrawn
	// ones.
	HostWishes(ctx context.Context, host string) ([]HostWish, error)
	// ForgetHostWishes removes all wishes of a host and returns how many there were.
	ForgetHostWishes(ctx context.Context, host string) (int, error)
}

// MaxHostWishes bounds the wishes of a cluster.
const MaxHostWishes = 3000

// The bounds of a wish, in bytes.
const (
	MaxWishReason = 1 << 10
	maxWishBy     = 255
)

// Check returns INVALID or LIMIT.
func (w HostWish) Check() error {
	switch w.Kind {
	case WishDrain, WishFailed, WishProbation:
	case WishSettings:
		if w.Settings != nil {
			if err := w.Settings.Check(w.Host); err != nil {
				return err
			}
		}
	default:
		return Errorf(CodeInvalid, w.Host, "%q is no wish of host %s: use %s, %s, %s or %s", w.Kind, w.Host, WishDrain, WishFailed, WishProbation, WishSettings)
	}
	if w.Needed < 0 {
		return Errorf(CodeInvalid, w.Host, "%d requests that end the probation of host %s is below 0", w.Needed, w.Host)
	}
	return cmp.Or(
		CheckNames("host", w.Host), CheckLine(w.Host, "who wants something of a host", w.By, maxWishBy),
		CheckLine(w.Host, "why something is wanted of a host", w.Reason, MaxWishReason), CheckTimes(w.Host, w.At, w.Until),
	)
}
