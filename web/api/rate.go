package api

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"drover/core"
	"drover/web/caller"
	"drover/web/services"
)

// policy is a rate with the name that headers give it.
type policy struct {
	name string
	rate core.Rate
}

// The rates of calls: of a user, with all its tokens, and of an address, for unknown callers.
var (
	perUser    = policy{"user", services.PerUser}
	perAddress = policy{"address", services.PerAddress}
)

// Retry-After and the headers RateLimit and RateLimit-Policy, the latter two as
// draft-ietf-httpapi-ratelimit-headers has them.
const (
	headerPolicy = "RateLimit-Policy"
	headerLimit  = "RateLimit"
	headerRetry  = "Retry-After"
)

// limit counts a call, and returns a problem if there were too many. If the counter is away, calls pass: they can be
// answered from the store.
func (s *server) limit(w http.ResponseWriter, r *http.Request, c *caller.Caller) *Problem {
	if s.Limits == nil {
		return nil
	}
	p, whose := perAddress, services.OfAddress(r)
	if c != nil {
		p, whose = perUser, services.OfUser(c.Actor.Handle)
	}
	left, err := s.Limits.Take(r.Context(), whose, p.rate, 1)
	if err != nil {
		if s.Log != nil {
			s.Log.WithError(err).Warn("calls of the API are not counted")
		}
		return nil
	}
	window := p.rate.Every * time.Duration(p.rate.Burst)
	w.Header().Set(headerPolicy, fmt.Sprintf("%q;q=%d;w=%d", p.name, p.rate.Burst, seconds(window)))
	w.Header().Set(headerLimit, fmt.Sprintf("%q;r=%d;t=%d", p.name, left.Remaining, seconds(left.Reset)))
	if left.Allowed {
		return nil
	}
	wait := max(seconds(left.Retry), 1)
	refused := newProblem(http.StatusTooManyRequests, core.Errorf(core.CodeFull, "", "that was too much at once for this %s: call again in %d s", p.name, wait))
	refused.headers = http.Header{headerRetry: {strconv.Itoa(wait)}}
	return refused
}

// seconds rounds up.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
