package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/cluster/lease"
)

// PreviewLease returns the lease that CreateLease would make. Returns FULL with what is free when.
func (c *Client) PreviewLease(ctx context.Context, d lease.Draft) (core.Lease, error) {
	return ask[core.Lease](ctx, c, call{method: http.MethodPost, path: []string{"leases", "preview"}, body: d})
}

// CreateLease makes a lease. It is not repeated if the answer is lost: look at the list then.
func (c *Client) CreateLease(ctx context.Context, d lease.Draft) (core.Lease, error) {
	return ask[core.Lease](ctx, c, call{method: http.MethodPost, path: []string{"leases"}, body: d})
}

// ChangeLease changes the given fields of a lease.
func (c *Client) ChangeLease(ctx context.Context, id string, change lease.Change) (core.Lease, error) {
	return ask[core.Lease](ctx, c, call{method: http.MethodPatch, path: []string{"leases", id}, body: change})
}

// DeleteLease deletes a lease; an active one ends first.
func (c *Client) DeleteLease(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"leases", id}})
}

// ViewLease returns NOTFOUND for an unknown id, and for a lease that the caller may not see.
func (c *Client) ViewLease(ctx context.Context, id string) (core.Lease, error) {
	return get[core.Lease](ctx, c, nil, "leases", id)
}

// ListLeases lists leases, newest first.
func (c *Client) ListLeases(ctx context.Context, f core.LeaseFilter) ([]core.Lease, error) {
	query := values("class", f.Class, "from_ms", orEmpty(f.From), "to_ms", orEmpty(f.To), "state", strings.Join(core.Texts(f.States), ","))
	return list[core.Lease](ctx, c, []string{"leases"}, query, f.Before, f.Limit)
}

// Calendar returns what leases hold on which host between two moments, ms since 1970, and how many units of a pool ("" for
// none) are free when.
func (c *Client) Calendar(ctx context.Context, from, to int64, pool string) (lease.View, error) {
	return get[lease.View](ctx, c, values("from_ms", orEmpty(from), "to_ms", orEmpty(to), "pool", pool), "calendar")
}

// orEmpty writes a number; "" for 0.
func orEmpty(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
