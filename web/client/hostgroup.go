package client

import (
	"context"
	"net/http"
	"time"

	"drover/core"
	"drover/core/cluster/join"
	"drover/core/cluster/operate"
)

// ListHostGroups lists all host groups, by name.
func (c *Client) ListHostGroups(ctx context.Context) ([]operate.Group, error) {
	page, err := get[pageOf[operate.Group]](ctx, c, nil, "host-groups")
	return page.Items, err
}

// ViewHostGroup returns NOTFOUND for an unknown name.
func (c *Client) ViewHostGroup(ctx context.Context, name string) (operate.Group, error) {
	return get[operate.Group](ctx, c, nil, "host-groups", name)
}

// SetHostGroup makes a host group, or changes all its settings. An empty profile leaves the one that it has.
func (c *Client) SetHostGroup(ctx context.Context, g core.HostGroup) (core.HostGroup, error) {
	// What is left out of a change stays, so all is there, also what is 0 or an empty list.
	body := map[string]any{
		"provider": g.Provider, "size": g.Size, "types": append([]core.MachineType{}, g.Types...), "spot": g.Spot, "labels": g.Labels, "min": g.Min, "max": g.Max,
		"max_cores": g.MaxCores, "max_cost": g.MaxCost, "goal_ns": g.Goal, "idle_after_ns": g.IdleAfter, "cooldown_ns": g.Cooldown,
		"join_within_ns": g.JoinWithin, "drain_for_ns": g.DrainFor, "paused": g.Paused,
	}
	if len(g.Profile) > 0 {
		body["profile"] = g.Profile
	}
	return ask[core.HostGroup](ctx, c, call{method: http.MethodPatch, path: []string{"host-groups", g.Name}, body: body})
}

// PauseHostGroup lets nothing be made or ended in a host group, or ends that.
func (c *Client) PauseHostGroup(ctx context.Context, name string, paused bool) error {
	if _, err := c.ViewHostGroup(ctx, name); err != nil {
		return err // a change of one that is not there would make it
	}
	return c.do(ctx, call{method: http.MethodPatch, path: []string{"host-groups", name}, body: map[string]any{"paused": paused}})
}

// RemoveHostGroup returns CONFLICT while it has machines.
func (c *Client) RemoveHostGroup(ctx context.Context, name string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"host-groups", name}})
}

// ListInstances lists machines that were made for host groups, newest first.
func (c *Client) ListInstances(ctx context.Context, f core.InstanceFilter) ([]core.Instance, error) {
	query := values("group", f.Group)
	if len(f.States) > 0 {
		query["state"] = core.Texts(f.States)
	}
	return list[core.Instance](ctx, c, []string{"instances"}, query, f.Before, f.Limit)
}

// ViewInstance returns NOTFOUND for an unknown id.
func (c *Client) ViewInstance(ctx context.Context, id string) (core.Instance, error) {
	return get[core.Instance](ctx, c, nil, "instances", id)
}

// TerminateInstance ends a machine, as operate.Service.Terminate does.
func (c *Client) TerminateInstance(ctx context.Context, id string, now bool) (core.Instance, error) {
	return ask[core.Instance](ctx, c, call{method: http.MethodPost, path: []string{"instances", id, "terminate"}, body: map[string]any{"now": now}})
}

// ListJoinTokens lists the tokens by which machines join, newest first.
func (c *Client) ListJoinTokens(ctx context.Context) ([]core.JoinToken, error) {
	page, err := get[pageOf[core.JoinToken]](ctx, c, nil, "join", "tokens")
	return page.Items, err
}

// MakeJoinToken makes a token by which machines join. Its secret is returned only here.
func (c *Client) MakeJoinToken(ctx context.Context, w join.Wish) (secret string, t core.JoinToken, err error) {
	made, err := ask[struct {
		Secret string         `json:"secret"`
		Token  core.JoinToken `json:"token"`
	}](ctx, c, call{method: http.MethodPost, path: []string{"join", "tokens"}, body: struct {
		Host  string `json:"host,omitempty"`
		Group string `json:"group,omitempty"`
		Uses  int    `json:"uses,omitempty"`
		Life  int64  `json:"life_ms,omitempty"`
	}{w.Host, w.Group, w.Uses, int64(w.Life / time.Millisecond)}})
	return made.Secret, made.Token, err
}

// RevokeJoinToken returns NOTFOUND for an unknown id.
func (c *Client) RevokeJoinToken(ctx context.Context, id string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"join", "tokens", id}})
}
