package taskrunner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
)

// mails sends links to people. A link is made when its mail is sent, so that its secret is in no store; killed between
// the two, the next try makes another one.
type mails struct {
	accounts *account.Service
	classes  interface {
		GetClass(ctx context.Context, handle string) (school.Class, error)
	}
	server *SMTP // nil: this taskrunner sends none
}

func (m *mails) resets() Kind {
	return Kind{Name: school.KindResetMail, Handle: m.reset, MaxAttempts: mailTries, Retry: mailPause, Timeout: 2 * time.Minute}
}

func (m *mails) invitations() Kind {
	return Kind{Name: school.KindInviteMail, Handle: m.invite, MaxAttempts: mailTries, Retry: mailPause, Timeout: time.Hour}
}

// bag returns a connection to come, and the site that links lead to.
func (m *mails) bag(site string) (*postbag, *url.URL, error) {
	if m.server == nil || m.accounts == nil {
		return nil, nil, core.Errorf(core.CodeUnavailable, "", "this taskrunner has no mail server: set smtp and mail_from for it, too")
	}
	u, err := url.Parse(site)
	if err != nil || u.Host == "" {
		return nil, nil, core.Errorf(core.CodeInvalid, "", "the task names no site")
	}
	return &postbag{to: m.server}, u, nil
}

func (m *mails) reset(ctx context.Context, job *Job) (End, error) {
	var args school.ResetMailArgs
	if err := job.Args(&args); err != nil {
		return End{}, err
	}
	bag, site, err := m.bag(args.Site)
	if err != nil {
		return End{}, err
	}
	defer bag.close()
	if job.Age > account.ResetLife {
		return End{Note: "not sent: it was asked for too long ago"}, nil
	}
	l, language, err := m.accounts.ResetLink(ctx, args.Digest)
	if core.Is(err, core.CodeNotFound) {
		return End{Note: "not sent: there is no such user, or none with an e-mail address"}, nil
	}
	if err != nil {
		return End{}, err
	}
	if language == "" {
		language = args.Language
	}
	l = l.At(site)
	err = bag.send(ctx, job.Task.ID, l.Name, l.Email, account.ResetLetter(language, l))
	if err == nil {
		return End{Note: "sent"}, nil
	}
	if errors.Is(err, errRefused) {
		err = core.Errorf(core.CodeInvalid, "", "the mail is %v", err)
	}
	return End{}, errors.Join(err, m.accounts.Unsent(ctx, l))
}

// maxUnreached bounds the people whom a note names.
const maxUnreached = 10

// invite mails invitations one by one. Killed or failed in between, the next try goes on with those who have none.
func (m *mails) invite(ctx context.Context, job *Job) (End, error) {
	var args school.InviteMailArgs
	if err := job.Args(&args); err != nil {
		return End{}, err
	}
	bag, site, err := m.bag(args.Site)
	if err != nil {
		return End{}, err
	}
	defer bag.close()
	of := account.Invites{Class: args.Class, Life: args.Life}
	if args.Users != "" {
		of.Users = strings.Split(args.Users, ",")
	}
	class, err := m.classes.GetClass(ctx, args.Class)
	if err != nil {
		return End{}, err
	}
	whom, err := m.accounts.Unmailed(ctx, of, job.Task.Created)
	if err != nil {
		return End{}, err
	}
	actor := core.Actor{Handle: job.Task.Requester}
	sent, refused := 0, []string{}
	for i := range whom {
		job.Progress(int64(i), int64(len(whom)), "mails sent")
		l, err := m.accounts.MailedInvitation(ctx, actor, of, whom[i])
		if err != nil {
			return End{}, err
		}
		l = l.At(site)
		letter := account.InviteLetter(args.Language, l, cmp.Or(class.Title, class.Handle))
		err = bag.send(ctx, job.Task.ID+"."+l.User, l.Name, l.Email, letter)
		if err != nil {
			err = errors.Join(err, m.accounts.Unsent(ctx, l))
		} else {
			sent++
			err = m.accounts.Sent(ctx, l)
		}
		if errors.Is(err, errRefused) {
			refused = append(refused, l.User)
			continue
		}
		if err != nil {
			return End{}, err
		}
	}
	return End{Note: invitedNote(sent, refused)}, nil
}

// invitedNote says how many mails were sent, and whom the mail server refuses.
func invitedNote(sent int, refused []string) string {
	note := fmt.Sprintf("mails sent: %d", sent)
	if len(refused) == 0 {
		return note
	}
	more := ""
	if len(refused) > maxUnreached {
		refused, more = refused[:maxUnreached], " and others"
	}
	return note + "; the mail server refuses the addresses of " + strings.Join(refused, ", ") + more
}
