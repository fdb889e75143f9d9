package client

import (
	"context"
	"net/http"

	"drover/core/cluster/join"
)

// Join redeems a join token, and returns what a host of the cluster needs to know. It is repeated as calls that change
// nothing are: the same key gets the same answer.
func (c *Client) Join(ctx context.Context, a join.Ask) (join.Grant, error) {
	return ask[join.Grant](ctx, c, call{method: http.MethodPost, path: []string{"join"}, again: true, body: struct {
		Token   string `json:"token"`
		Host    string `json:"host,omitempty"`
		Machine string `json:"machine,omitempty"`
		Key     string `json:"key"`
	}{a.Token, a.Host, a.Machine, a.Key}})
}
