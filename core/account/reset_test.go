package account_test

import (
	"context"
	"encoding/json"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/account/secrets"
	"drover/core/school"
)

// tray keeps the tasks that would send mail.
type tray struct {
	mu    sync.Mutex
	tasks []core.Task
}

func (m *tray) SubmitTask(_ context.Context, t core.Task) (core.Task, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tasks = append(m.tasks, t)
	return t, true, nil
}

var site = &url.URL{Scheme: "https", Host: "drover.example.org"}

// The answer to a request for a link, and what is done for it, is the same for users and strangers.
func TestAskResetTellsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ask := func(name, address string) error { return w.AskReset(t.Context(), name, address, "de", site) }
	require.Equal(t, core.CodeUnavailable, core.CodeOf(ask("ann", home)), "without mail")
	mails := &tray{}
	w.Mail = mails
	for _, name := range []string{"ann", "nobody", " Ann@School.example", "no body at all", ""} {
		require.NoError(t, ask(name, home))
	}
	require.Len(t, mails.tasks, 3, "for what can be a user's name")
	for i, name := range []string{"ann", "nobody", "ann@school.example"} {
		require.Equal(t, school.KindResetMail, mails.tasks[i].Kind)
		require.NotContains(t, string(mails.tasks[i].Args)+mails.tasks[i].Unique, name, "what was typed is not in the task")
		require.JSONEq(t, `{"digest":"`+secrets.Hash(name)+`","site":"https://drover.example.org","language":"de"}`, string(mails.tasks[i].Args))
	}
	for range 5 {
		require.NoError(t, ask("ann", away), "the same answer for too many")
	}
	require.Len(t, mails.tasks, 5, "three for one name")
	var err error
	for range 40 {
		err = ask("", away)
	}
	require.Equal(t, core.CodeFull, core.CodeOf(err))
	require.NoError(t, ask("nobody", home), "others go on")
}

// A link that a user asked for replaces the password once, for an hour.
func TestResetLink(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.user(school.User{Handle: "bob"})
	for _, name := range []string{"nobody", "bob", "a b@c", ""} {
		_, _, err := w.ResetLink(ctx, secrets.Hash(name))
		require.Equal(t, core.CodeNotFound, core.CodeOf(err), name)
	}
	in := w.password("ann", good)
	require.NoError(t, w.SetLanguage(ctx, ann, "de"))
	w.after(time.Second)
	l, language, err := w.ResetLink(ctx, secrets.Hash("ann@school.example"))
	require.NoError(t, err)
	require.Equal(t, "de", language)
	require.True(t, w.present(in), "until the link is used")
	old, _, err := w.ResetLink(ctx, secrets.Hash("ann"))
	require.NoError(t, err)
	require.NoError(t, w.Unsent(ctx, old))
	require.ErrorIs(t, w.LookAtLink(ctx, old.Secret), account.ErrLink)
	late, _, err := w.ResetLink(ctx, secrets.Hash("ann"))
	require.NoError(t, err)
	w.after(time.Second)
	got, err := w.RedeemLink(ctx, l.Secret)
	require.NoError(t, err)
	require.True(t, got.Account.MustChange)
	require.False(t, w.present(in))
	_, err = w.RedeemLink(ctx, l.Secret)
	require.ErrorIs(t, err, account.ErrLink, "once")
	_, err = w.RedeemLink(ctx, late.Secret)
	require.ErrorIs(t, err, account.ErrLink, "not after another one")
	w.requireNowhere(l.Secret)
	w.after(time.Hour)
	l, _, err = w.ResetLink(ctx, secrets.Hash("ann"))
	require.NoError(t, err)
	w.after(time.Hour)
	_, err = w.RedeemLink(ctx, l.Secret)
	require.ErrorIs(t, err, account.ErrLink, "for an hour")
	w.disable("ann")
	_, _, err = w.ResetLink(ctx, secrets.Hash("ann"))
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
}

// Letters name who, where and until when, in both languages, and leave no blank.
func TestLetters(t *testing.T) {
	t.Parallel()
	l := account.Link{User: "ann", Name: "Ann Lee", Secret: "s", Expires: 1_700_000_000_000}.At(site)
	for language, word := range map[string]string{"en": "Hello Ann Lee", "": "Hello Ann Lee", "de-CH": "Guten Tag Ann Lee", "xx": "Hello"} {
		for _, letter := range []account.Letter{account.ResetLetter(language, l), account.InviteLetter(language, l, "Biology 1")} {
			require.Contains(t, letter.Text, word)
			require.Contains(t, letter.Text, "https://drover.example.org/sign-in/link?token=s\n")
			require.Contains(t, letter.Text, "2023-11-14 22:13 UTC")
			require.NotContains(t, letter.Text+letter.Subject, "{")
		}
	}
	require.Equal(t, "Your account for Biology 1", account.InviteLetter("en", l, "Biology 1").Subject)
}

// Invitations by mail go to students with an address, once, and again where that failed.
func TestUnmailed(t *testing.T) {
	t.Parallel()
	w := newClass(t)
	ctx := t.Context()
	mails := &tray{}
	of := account.Invites{Class: "cs101"}
	_, err := w.MailInvitations(ctx, tess, of, site)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	w.Mail = mails
	_, err = w.MailInvitations(ctx, tina, of, site)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	_, err = w.MailInvitations(ctx, tess, account.Invites{Class: "cs101", Users: []string{"bob"}}, site)
	require.ErrorContains(t, err, "has no e-mail address")
	task, err := w.MailInvitations(ctx, tess, of, site)
	require.NoError(t, err)
	require.Equal(t, "cs101", task.About)
	languages := map[string]string{}
	for _, asked := range []string{"", "de-CH", "fr"} {
		mine := of
		mine.Language = asked
		task, err := w.MailInvitations(ctx, tess, mine, site)
		if err != nil {
			languages[asked] = string(core.CodeOf(err))
			continue
		}
		var args school.InviteMailArgs
		require.NoError(t, json.Unmarshal(task.Args, &args))
		languages[asked] = args.Language
	}
	require.Equal(t, map[string]string{"": "", "de-CH": "de-CH", "fr": "INVALID"}, languages)
	require.NoError(t, w.SetLanguage(ctx, tess, "de"))
	task, err = w.MailInvitations(ctx, tess, of, site)
	require.NoError(t, err)
	require.Contains(t, string(task.Args), `"language":"de"`, "as the inviting user reads pages")
	since := w.clock().UnixMilli()
	left := func(of account.Invites) []string {
		all, err := w.Unmailed(ctx, of, since)
		require.NoError(t, err)
		users := []string{}
		for _, one := range all {
			users = append(users, one.User)
		}
		return users
	}
	require.Equal(t, []string{"ann"}, left(of), "the others have no address, or are not invited")
	all, err := w.Unmailed(ctx, of, since)
	require.NoError(t, err)
	l, err := w.MailedInvitation(ctx, tess, of, all[0])
	require.NoError(t, err)
	require.Equal(t, []string{"ann"}, left(of), "a crash before it was sent")
	w.after(time.Second)
	require.NoError(t, w.Sent(ctx, l))
	require.Equal(t, account.InviteSent, w.stands()["ann"])
	require.Empty(t, left(of))
	require.Empty(t, left(account.Invites{Class: "cs101", Users: []string{"ann"}}), "the same task")
	w.after(time.Second)
	since = w.clock().UnixMilli()
	require.Equal(t, []string{"ann"}, left(account.Invites{Class: "cs101", Users: []string{"ann"}}), "another one, for named users")
	w.after(account.InviteLife)
	require.Equal(t, account.InviteExpired, w.stands()["ann"])
	require.Equal(t, []string{"ann"}, left(of))
}
