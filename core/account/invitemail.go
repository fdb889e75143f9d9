package account

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"drover/core"
	"drover/core/account/secrets"
	"drover/core/school"
)

// mailedName is the name of invitations that are sent by mail.
const mailedName = "invitation by mail"

// MailInvitations starts a task that mails invitations to students of a class: to some, or to all who never signed in,
// have an e-mail address and no invitation that can be used. Returns what Invite does, INVALID for a named student
// without an e-mail address and for a language in which there are no mails, UNAVAILABLE if the site sends no mail.
func (d *Service) MailInvitations(ctx context.Context, a core.Actor, of Invites, site *url.URL) (core.Task, error) {
	if err := d.mayInvite(ctx, a, of.Class); err != nil {
		return core.Task{}, err
	}
	if !d.CanMail() {
		return core.Task{}, noMail()
	}
	if err := of.check(); err != nil {
		return core.Task{}, err
	}
	language, err := d.languageOf(ctx, a, of)
	if err != nil {
		return core.Task{}, err
	}
	if len(of.Users) > 0 {
		whom, _, err := d.named(ctx, of)
		if err != nil {
			return core.Task{}, err
		}
		for i := range whom {
			if whom[i].Email == "" {
				return core.Task{}, core.Errorf(core.CodeInvalid, whom[i].User, "user %s has no e-mail address: give the student a link from the sheet", whom[i].User)
			}
		}
	}
	args, err := json.Marshal(school.InviteMailArgs{
		Class: of.Class, Users: strings.Join(of.Users, ","), Life: of.life(), Site: site.String(), Language: language,
	})
	if err != nil {
		return core.Task{}, core.Wrap(err, core.CodeInternal, of.Class, "the arguments of a mail cannot be written")
	}
	t := core.Task{
		ID: d.newID(), Kind: school.KindInviteMail, Args: args, Unique: school.KindInviteMail + ":" + secrets.Hash(string(args)),
		Priority: core.PriorityNormal, Requester: a.Handle, About: of.Class,
	}
	entry := core.AuditEntry{Action: core.ActInvite, Class: of.Class, Subject: of.Class, Text: "has invitations to " + of.Class + " mailed"}
	err = d.log().Do(ctx, a, entry, func() error {
		made, _, err := d.Mail.SubmitTask(ctx, t)
		if err == nil && made.ID != "" {
			t = made
		}
		return err
	})
	return t, err
}

// languageOf returns the language of mails that somebody has sent: the one that is asked for, else the one in which the
// inviting user reads pages, if the account has one.
func (d *Service) languageOf(ctx context.Context, a core.Actor, of Invites) (string, error) {
	if of.Language != "" {
		return of.Language, checkLanguage(of.Class, of.Language)
	}
	account, err := d.Store.GetAccount(ctx, a.Handle)
	if core.Is(err, core.CodeNotFound) { // an operator at the cluster itself
		err = nil
	}
	return account.Language, err
}

// Unmailed returns whom a task of MailInvitations still has to write to: not those to whom mail was sent since the
// task began, nor those who cannot be invited any more.
func (d *Service) Unmailed(ctx context.Context, of Invites, since int64) ([]Invitee, error) {
	asked := map[string]bool{}
	for _, user := range of.Users {
		asked[user] = true
	}
	var all []Invitee
	for after, first := "", true; first || after != ""; first = false {
		some, next, err := d.invitees(ctx, of.Class, after, MaxInvited)
		if err != nil {
			return nil, err
		}
		for _, one := range some {
			wanted := asked[one.User] || len(asked) == 0 && (one.State == InviteNone || one.State == InviteExpired || one.mailed && one.Sent == 0)
			if wanted && one.State.Open() && one.Email != "" && one.Sent < since {
				all = append(all, one)
			}
		}
		after = next
	}
	return all, nil
}

// MailedInvitation makes the invitation that the next mail has. Whether the actor may invite was decided when it asked.
func (d *Service) MailedInvitation(ctx context.Context, a core.Actor, of Invites, one Invitee) (Link, error) {
	return d.invite(ctx, a, of, &one, mailedName)
}

// Sent notes that an invitation was mailed.
func (d *Service) Sent(ctx context.Context, l Link) error {
	return d.Store.TouchToken(ctx, l.token, d.now().UnixMilli())
}
