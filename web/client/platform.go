package client

import (
	"context"
	"net/http"

	"drover/core/school"
)

// ListPlatforms lists the learning platforms whose people come to the site, by handle.
func (c *Client) ListPlatforms(ctx context.Context) ([]school.LTIPlatform, error) {
	page, err := get[pageOf[school.LTIPlatform]](ctx, c, nil, "platforms")
	return page.Items, err
}

// ViewPlatform returns NOTFOUND for an unknown handle.
func (c *Client) ViewPlatform(ctx context.Context, handle string) (school.LTIPlatform, error) {
	return get[school.LTIPlatform](ctx, c, nil, "platforms", handle)
}

// AddPlatform adds a learning platform. Returns INVALID, CONFLICT, LIMIT.
func (c *Client) AddPlatform(ctx context.Context, p school.LTIPlatform) (school.LTIPlatform, error) {
	body := map[string]any{
		"id": p.ID, "name": p.Name, "issuer": p.Issuer, "client_id": p.Client, "auth_url": p.AuthURL, "jwks_url": p.KeysURL, "token_url": p.TokenURL,
		"deployments": append([]string{}, p.Deployments...), "origins": append([]string{}, p.Origins...), "new_classes": p.NewClasses,
	}
	return ask[school.LTIPlatform](ctx, c, call{method: http.MethodPost, path: []string{"platforms"}, body: body})
}

// RemovePlatform returns NOTFOUND for an unknown handle.
func (c *Client) RemovePlatform(ctx context.Context, handle string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"platforms", handle}})
}
