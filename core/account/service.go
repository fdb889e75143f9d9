package account

import (
	"context"
	"strings"
	"time"

	"drover/core"
	"drover/core/account/auditlog"
	"drover/core/school"

	"github.com/oklog/ulid/v2"
)

// Service signs users in and manages their passwords, links, tokens and identities. The fields are set once; all
// methods are safe for concurrent use, by several processes as well.
type Service struct {
	Store  Store
	Limits core.Limiter
	Mail   Mailer // nil: no mail is sent
	Hasher *Hasher
	Now    func() time.Time // nil: time.Now
	NewID  func() string    // nil: lower-case ULIDs

	// Refused is called for each sign-in by password that is refused: with the user's handle, "" for nobody's, the
	// address, and why. It may be nil.
	Refused func(handle, address, why string)
}

// Mailer accepts the tasks that send mail, as core/requests/intake does.
type Mailer interface {
	SubmitTask(ctx context.Context, t core.Task) (core.Task, bool, error)
}

// Store is what a Service needs of the result store.
type Store interface {
	school.Accounts
	core.AuditLog

	PutUser(ctx context.Context, u school.User) (revision int64, err error)
	GetUser(ctx context.Context, handle string) (school.User, error)
	GetUsers(ctx context.Context, keys []string) ([]school.User, error)
	ListUsers(ctx context.Context, after string, limit int) ([]school.User, error)
	GetClass(ctx context.Context, handle string) (school.Class, error)
	Members(ctx context.Context, class, after string, limit int) ([]school.Enrolment, error)
	Memberships(ctx context.Context, user string) ([]school.Enrolment, error)
}

// SignedIn is an authenticated user.
type SignedIn struct {
	User    school.User
	Account school.Account
	Since   int64 // begin of its session, ms since 1970: for Present
}

func (d *Service) now() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
}

func (d *Service) newID() string {
	if d.NewID != nil {
		return d.NewID()
	}
	return strings.ToLower(ulid.Make().String())
}

// change writes a sentence about a user's account to the audit log and then does what it says.
func (d *Service) change(ctx context.Context, a core.Actor, user, text string, do func() error) error {
	entry := core.AuditEntry{Action: core.ActAccount, Subject: user, Text: text}
	return d.log().Do(ctx, a, entry, do)
}

func (d *Service) log() auditlog.Log { return auditlog.Log{Store: d.Store, Now: d.now, NewID: d.newID} }

// put changes an account by edit, and repeats that after a concurrent change.
func (d *Service) put(ctx context.Context, user string, edit func(a *school.Account) error) (school.Account, error) {
	const tries = 5
	for n := 1; ; n++ {
		a, err := d.Store.GetAccount(ctx, user)
		if err != nil {
			return school.Account{}, err
		}
		if err := edit(&a); err != nil {
			return school.Account{}, err
		}
		if err := a.Check(); err != nil {
			return school.Account{}, err
		}
		a.Revision, err = d.Store.PutAccount(ctx, a)
		if err == nil || n == tries || !core.Is(err, core.CodeConflict) {
			return a, err
		}
	}
}

// own returns the actor for a user who changes its own account.
func own(user string) core.Actor { return core.Actor{Handle: user} }

// welcome returns an authenticated user as signed in.
func (d *Service) welcome(u school.User, a school.Account) SignedIn {
	return SignedIn{User: u, Account: a, Since: d.next(a)}
}

// next returns now, ms since 1970, but later than everything that ended sessions before: a new session is not ended
// by an earlier sign-out, and an existing one is ended by the next.
func (d *Service) next(a school.Account) int64 {
	return max(d.now().UnixMilli(), a.SignedOut+1, a.ChangedAt+1)
}

// enabled returns a user that may sign in. Returns NOTFOUND, and FORBIDDEN for a disabled user.
func (d *Service) enabled(ctx context.Context, handle string) (school.User, error) {
	u, err := d.Store.GetUser(ctx, handle)
	if err == nil && u.Disabled {
		err = disabled(u.Handle)
	}
	return u, err
}

func disabled(handle string) error {
	return core.Errorf(core.CodeForbidden, handle, "user %s is disabled: ask who runs this site to enable it again", handle)
}

// Present returns the user of a session that began at a time, ms since 1970, with its current account. Returns
// FORBIDDEN if the session is over: the user is disabled or gone, has signed out everywhere, or has changed its
// password.
func (d *Service) Present(ctx context.Context, handle string, since int64) (SignedIn, error) {
	u, err := d.enabled(ctx, handle)
	if core.Is(err, core.CodeNotFound) {
		err = over()
	}
	if err != nil {
		return SignedIn{}, err
	}
	a, err := d.Store.GetAccount(ctx, u.Handle)
	switch {
	case core.Is(err, core.CodeNotFound):
		return SignedIn{}, over()
	case err != nil:
		return SignedIn{}, err
	case since <= max(a.SignedOut, a.ChangedAt) || since < u.Created: // a user created again is another user
		return SignedIn{}, over()
	}
	return SignedIn{User: u, Account: a, Since: since}, nil
}

func over() error {
	return core.Errorf(core.CodeForbidden, "", "your session is over: sign in again")
}

// SignOut ends all sessions of a user and invalidates its sign-in links: one's own, or anybody's for admins. API
// tokens stay. Returns FORBIDDEN, NOTFOUND.
func (d *Service) SignOut(ctx context.Context, a core.Actor, handle string) error {
	u, err := d.whose(ctx, a, handle)
	if err != nil {
		return err
	}
	return d.change(ctx, a, u.Handle, "signs "+u.Handle+" out everywhere", func() error {
		_, err := d.put(ctx, u.Handle, func(a *school.Account) error {
			a.SignedOut = d.next(*a)
			return nil
		})
		return err
	})
}

// SetLanguage sets the language of the actor's pages; "" is the browser's. Returns INVALID.
func (d *Service) SetLanguage(ctx context.Context, a core.Actor, language string) error {
	return d.change(ctx, a, a.Handle, "reads pages in "+strings.TrimSpace("language "+language), func() error {
		_, err := d.put(ctx, a.Handle, func(a *school.Account) error { a.Language = language; return nil })
		return err
	})
}

// View returns a user's account, tokens and identities: one's own, or anybody's for
// admins. Returns FORBIDDEN, NOTFOUND.
func (d *Service) View(ctx context.Context, a core.Actor, handle string) (Sheet, error) {
	u, err := d.whose(ctx, a, handle)
	if err != nil {
		return Sheet{}, err
	}
	s := Sheet{}
	if s.Account, err = d.Store.GetAccount(ctx, u.Handle); err != nil {
		return Sheet{}, err
	}
	s.HasPassword = s.Account.Password != ""
	if s.Tokens, err = d.Store.Tokens(ctx, u.Handle, school.TokenAPI); err != nil {
		return Sheet{}, err
	}
	s.Identities, err = d.Store.Identities(ctx, u.Handle)
	return s, err
}

// Sheet is an account with its tokens and identities.
type Sheet struct {
	Account     school.Account
	HasPassword bool
	Tokens      []school.Token // of programs, newest first
	Identities  []school.Identity
}

// whose returns a user whose account the actor may look at. Returns FORBIDDEN,
// whether there is such a user or not; NOTFOUND.
func (d *Service) whose(ctx context.Context, a core.Actor, handle string) (school.User, error) {
	u, err := d.Store.GetUser(ctx, handle)
	owner := handle
	if err == nil {
		owner = u.Handle
	}
	if denied := core.Allow(a, core.ActAccount, core.Object{Owner: owner}); denied != nil {
		return school.User{}, denied
	}
	return u, err
}
