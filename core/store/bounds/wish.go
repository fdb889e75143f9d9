package bounds

import (
	"cmp"

	"drover/core"
)

// The bounds of a wish, in bytes.
const (
	MaxWishReason = 1 << 10
	maxWishBy     = 255
)

// HostWish checks a wish for a host. Returns INVALID or LIMIT.
func HostWish(w core.HostWish) error {
	switch w.Kind {
	case core.WishDrain, core.WishFailed, core.WishProbation:
	case core.WishSettings:
		if w.Settings != nil {
			if err := w.Settings.Check(w.Host); err != nil {
				return err
			}
		}
	default:
		return core.Errorf(core.CodeInvalid, w.Host, "%q is no wish of host %s: use %s, %s, %s or %s", w.Kind, w.Host,
			core.WishDrain, core.WishFailed, core.WishProbation, core.WishSettings)
	}
	if w.Needed < 0 {
		return core.Errorf(core.CodeInvalid, w.Host, "%d requests that end the probation of host %s is below 0", w.Needed, w.Host)
	}
	return cmp.Or(
		names("host", w.Host), line(w.Host, "who wants something of a host", w.By, maxWishBy),
		line(w.Host, "why something is wanted of a host", w.Reason, MaxWishReason), times(w.Host, w.At, w.Until),
	)
}
