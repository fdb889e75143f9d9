package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"drover/core"
	"drover/core/account"
)

// Invitations lists a page of a class's students with their invitations, and returns the handle after which the next
// page begins; "" for none.
func (c *Client) Invitations(ctx context.Context, class, after string, limit int) (all []account.Invitee, next string, err error) {
	query := values("cursor", after, "limit", strconv.Itoa(min(limit, maxPage)))
	page, err := get[pageOf[account.Invitee]](ctx, c, query, "classes", class, "invitations")
	return page.Items, page.Next, err
}

// Invite makes links by which students of a class who never signed in do so once. It is not repeated: each call makes
// links, and only its answer has them.
func (c *Client) Invite(ctx context.Context, of account.Invites) (account.Invited, error) {
	return ask[account.Invited](ctx, c, call{method: http.MethodPost, path: []string{"classes", of.Class, "invitations"}, body: struct {
		Users []string `json:"users,omitempty"`
		Life  int64    `json:"life_ms,omitempty"`
	}{of.Users, int64(of.Life / time.Millisecond)}})
}

// MailInvitations has such links mailed, by a task.
func (c *Client) MailInvitations(ctx context.Context, of account.Invites) (core.Task, error) {
	return ask[core.Task](ctx, c, call{method: http.MethodPost, path: []string{"classes", of.Class, "invitations", "mail"}, body: struct {
		Users    []string `json:"users,omitempty"`
		Life     int64    `json:"life_ms,omitempty"`
		Language string   `json:"language,omitempty"`
	}{of.Users, int64(of.Life / time.Millisecond), of.Language}})
}

// WithdrawInvitation withdraws a student's invitation.
func (c *Client) WithdrawInvitation(ctx context.Context, class, user string) error {
	return c.do(ctx, call{method: http.MethodDelete, path: []string{"classes", class, "invitations", user}})
}
