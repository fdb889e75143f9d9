package lease

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"drover/core"
)

// Checks asks a service outside of the cluster whether leases may be made and changed, and tells it of their ends. It
// answers 204 to allow, and 403 with {"message": "…"} to refuse; every other answer, and none, refuses as well.
//
//	POST URL/check-create  {"user", "lease"}
//	POST URL/check-update  {"user", "lease": as it was, "next": as it would be}
//	POST URL/on-end        {"lease"}, of which nobody waits for the answer
type Checks struct {
	URL    string
	Token  string       // sent as Authorization: Bearer; "" for none
	Client *http.Client // guarded against private addresses
}

// Bounds of a check.
const (
	checkTimeout = 10 * time.Second
	maxAnswer    = 4 << 10
	maxMessage   = 300 // bytes
)

// asked is the body of a check.
type asked struct {
	User  string      `json:"user,omitempty"`
	Lease core.Lease  `json:"lease"`
	Next  *core.Lease `json:"next,omitempty"`
}

// Create returns FORBIDDEN if a lease must not be made, UNAVAILABLE if that cannot be told.
func (c *Checks) Create(ctx context.Context, a core.Actor, l core.Lease) error {
	return c.ask(ctx, "check-create", asked{User: a.Handle, Lease: l})
}

// Update returns FORBIDDEN if a lease must not be changed so, UNAVAILABLE if that cannot be told.
func (c *Checks) Update(ctx context.Context, a core.Actor, was, next core.Lease) error {
	return c.ask(ctx, "check-update", asked{User: a.Handle, Lease: was, Next: &next})
}

// Ended tells of an end. Its error is for the log.
func (c *Checks) Ended(ctx context.Context, l core.Lease) error {
	return c.ask(ctx, "on-end", asked{Lease: l})
}

func (c *Checks) ask(ctx context.Context, what string, body asked) error {
	if c == nil {
		return nil
	}
	unavailable := func(why string) error {
		return core.Errorf(core.CodeUnavailable, body.Lease.ID, "the service that decides on leases %s: try again later, or tell who runs it", why)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return core.Wrap(err, core.CodeInternal, body.Lease.ID, "lease %s cannot be written as JSON", body.Lease.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.URL, "/")+"/"+what, bytes.NewReader(text))
	if err != nil {
		return unavailable("has an address that is none")
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.Client.Do(req)
	if err != nil {
		return unavailable("does not answer") // the error may name addresses of drover's network
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	switch resp.StatusCode {
	case http.StatusNoContent:
		return nil
	case http.StatusForbidden:
		var said struct {
			Message string `json:"message"`
		}
		answer, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if json.Unmarshal(answer, &said) != nil || said.Message == "" {
			return core.Errorf(core.CodeForbidden, body.Lease.ID, "the service that decides on leases refuses this one")
		}
		return core.Errorf(core.CodeForbidden, body.Lease.ID, "the service that decides on leases refuses this one: %s", core.OneLine(said.Message, maxMessage))
	}
	return unavailable("answers " + resp.Status)
}
