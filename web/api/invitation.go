package api

import (
	"context"
	"time"

	"drover/core"
	"drover/core/account"
)

func (s *server) listInvitations(ctx context.Context, a core.Actor, in *struct {
	InClass
	Cursor
},
) (*answer[Page[account.Invitee]], error) {
	found, next, err := s.Accounts.Invitations(ctx, a, in.Class, in.Cursor.Cursor, in.limit())
	return answered(Page[account.Invitee]{Items: found, Next: next}, err)
}

// NewInvitations says whom to invite.
type NewInvitations struct {
	Users []string `json:"users,omitempty" maxItems:"500" doc:"handles of students; left out: all who never signed in and have no invitation that can be used"`
	Life  int64    `json:"life_ms,omitempty" minimum:"60000" maximum:"5184000000" doc:"lifetime of the links; 14 days by default"`
}

func (s *server) invite(ctx context.Context, a core.Actor, in *struct {
	InClass
	Body NewInvitations
},
) (*answer[account.Invited], error) {
	made, err := s.Accounts.Invite(ctx, a, account.Invites{Class: in.Class, Users: in.Body.Users, Life: time.Duration(in.Body.Life) * time.Millisecond})
	for i := range made.Links {
		made.Links[i] = made.Links[i].At(s.URL)
	}
	return answered(made, err)
}

// MailedInvitations says whom to write to.
type MailedInvitations struct {
	NewInvitations

	Language string `json:"language,omitempty" maxLength:"40" doc:"of the mails, such as de; left out: that of your account, else English"`
}

func (s *server) mailInvitations(ctx context.Context, a core.Actor, in *struct {
	InClass
	Body MailedInvitations
},
) (*answer[core.Task], error) {
	of := account.Invites{Class: in.Class, Users: in.Body.Users, Life: time.Duration(in.Body.Life) * time.Millisecond, Language: in.Body.Language}
	return answered(s.Accounts.MailInvitations(ctx, a, of, s.URL))
}

func (s *server) withdrawInvitation(ctx context.Context, a core.Actor, in *struct {
	InClass
	OneUser
},
) (*done, error) {
	_, err := s.Accounts.Withdraw(ctx, a, in.Class, []string{in.User})
	return &done{}, err
}
