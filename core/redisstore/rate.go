package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"drover/core"
)

// maxRateName bounds the name under which something is limited, in bytes.
const maxRateName = 256

// Take implements core.Limiter.
func (s *Store) Take(ctx context.Context, name string, r core.Rate, n int) (core.Allowance, error) {
	if r == (core.Rate{}) {
		return core.Allowance{Allowed: true}, nil
	}
	if err := checkTake(name, r, n); err != nil {
		return core.Allowance{}, err
	}
	kind, _, _ := strings.Cut(name, ":")
	if !core.ValidName(kind) {
		kind = "other"
	}
	sum := sha256.Sum256([]byte(name))
	reply, err := s.run(ctx, "take", kind, kind, hex.EncodeToString(sum[:]), r.Every.Microseconds(), r.Burst, n, callID())
	if err != nil {
		return core.Allowance{}, err
	}
	f := list(reply)
	if len(f) != 4 {
		return core.Allowance{}, core.Errorf(core.CodeInternal, kind, "Redis answered a rate with %d values", len(f))
	}
	return core.Allowance{
		Allowed: num(f[0]) == 1, Remaining: int(num(f[1])),
		Retry: time.Duration(num(f[2])) * time.Microsecond, Reset: time.Duration(num(f[3])) * time.Microsecond,
	}, nil
}

func checkTake(name string, r core.Rate, n int) error {
	switch {
	case name == "" || len(name) > maxRateName:
		return core.Errorf(core.CodeInvalid, "", "what is bounded by a rate has a name of 1 to %d bytes, not %d", maxRateName, len(name))
	case r.Every < time.Microsecond || r.Every > maxRateEvery || r.Burst < 1 || r.Burst > maxRateCount:
		return core.Errorf(core.CodeInvalid, "", "a rate of %d at once and one per %s cannot be kept: use 1 to %d, and 1µs to %s", r.Burst, r.Every, maxRateCount, maxRateEvery)
	case n < 0 || n > r.Burst:
		return core.Errorf(core.CodeInvalid, "", "%d at once are never allowed by a rate of at most %d at once", n, r.Burst)
	}
	return nil
}
