package account

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"drover/core"
	"drover/core/account/secrets"
	"drover/core/school"
)

// How long an invitation can be used: the default, and the maximum. MaxInvited is how many students one call invites.
const (
	InviteLife    = 14 * 24 * time.Hour
	MaxInviteLife = 60 * 24 * time.Hour
	MaxInvited    = 500
)

// InviteState says how a student of a class stands with an invitation.
type InviteState string

// The states.
const (
	InviteNone    InviteState = "none"    // never signed in, and has no invitation
	InviteMade    InviteState = "made"    // has an invitation that can be used
	InviteSent    InviteState = "sent"    // the same, and it was sent by mail
	InviteExpired InviteState = "expired" // has one that is too old
	InviteUsed    InviteState = "used"    // has signed in, or can sign in by other means
	InviteBarred  InviteState = "barred"  // is not invited, see Invitee.Bar
)

// Open reports whether a student in the state can be invited.
func (s InviteState) Open() bool {
	return s == InviteNone || s == InviteMade || s == InviteSent || s == InviteExpired
}

// Invitee is a student of a class with the student's invitation.
type Invitee struct {
	User    string      `json:"user"` // its handle
	Name    string      `json:"name,omitempty"`
	Email   string      `json:"email,omitempty"`
	Section string      `json:"section,omitempty"`
	State   InviteState `json:"state"`
	Bar     string      `json:"bar,omitempty"`        // why the student is not invited: staff, roles or disabled
	By      string      `json:"by,omitempty"`         // who made the invitation
	Made    int64       `json:"made_ms,omitempty"`    // when, ms since 1970
	Expires int64       `json:"expires_ms,omitempty"` // until when it can be used
	Sent    int64       `json:"sent_ms,omitempty"`    // when it was sent by mail

	token  string // id of the invitation
	mailed bool   // it is one for the mail
}

// Invited is what Invite made.
type Invited struct {
	Links []Link `json:"items"`
	More  bool   `json:"more,omitempty"` // students without an invitation are left: call again
}

// Invites says whom to invite to a class.
type Invites struct {
	Class string
	Users []string      // handles; none: all students who never signed in and have no invitation that can be used
	Life  time.Duration // 0: InviteLife
	// Language of mails, such as de; "": that of who invites.
	Language string
}

func (of Invites) life() time.Duration { return cmp.Or(of.Life, InviteLife) }

func (of Invites) check() error {
	if of.Life < 0 || of.Life > MaxInviteLife {
		return core.Errorf(core.CodeInvalid, of.Class, "an invitation is good for 1 to %d days", int(MaxInviteLife.Hours())/24)
	}
	if len(of.Users) > MaxInvited {
		return core.Errorf(core.CodeLimit, of.Class, "%d students are to be invited at once, at most %d may be", len(of.Users), MaxInvited)
	}
	return nil
}

// Invitations lists the students of a class who come after a handle, at most limit of its members, and returns the
// handle after which the next page begins; "" for none. Returns NOTFOUND, FORBIDDEN, INVALID, LIMIT.
func (d *Service) Invitations(ctx context.Context, a core.Actor, class, after string, limit int) (all []Invitee, next string, err error) {
	if err := d.mayInvite(ctx, a, class); err != nil {
		return nil, "", err
	}
	return d.invitees(ctx, class, after, limit)
}

// mayInvite returns NOTFOUND if the actor does not see the class, FORBIDDEN without the right to invite to it.
func (d *Service) mayInvite(ctx context.Context, a core.Actor, class string) error {
	o, hidden := core.Object{Class: class}, core.Errorf(core.CodeNotFound, class, "there is no class %.80q", class)
	if !core.ValidName(class) || core.Allow(a, core.ActClassView, o) != nil {
		return hidden
	}
	if err := core.Allow(a, core.ActInvite, o); err != nil {
		return err
	}
	c, err := d.Store.GetClass(ctx, class)
	switch {
	case core.Is(err, core.CodeNotFound):
		return hidden
	case err == nil && c.Deleting:
		return core.Errorf(core.CodeConflict, class, "class %s is being deleted", class)
	}
	return err
}

// invitees reads the students on a page of a class's members, by three reads.
func (d *Service) invitees(ctx context.Context, class, after string, limit int) (all []Invitee, next string, err error) {
	members, err := d.Store.Members(ctx, class, after, limit)
	if err != nil {
		return nil, "", err
	}
	if len(members) == limit {
		next = members[limit-1].User
	}
	sections := make(map[string]string, len(members))
	handles := make([]string, 0, len(members))
	for _, m := range members {
		if m.Role == core.RoleStudent {
			sections[m.User], handles = m.Section, append(handles, m.User)
		}
	}
	if len(handles) == 0 {
		return []Invitee{}, next, nil
	}
	users, err := d.Store.GetUsers(ctx, handles)
	if err != nil {
		return nil, "", err
	}
	ways, err := d.Store.WaysIn(ctx, handles)
	if err != nil {
		return nil, "", err
	}
	by := make(map[string]school.WayIn, len(ways))
	for _, w := range ways {
		by[w.User] = w
	}
	all, now := make([]Invitee, 0, len(users)), d.now().UnixMilli()
	for i := range users {
		one := invitee(&users[i], by[users[i].Handle], now)
		one.Section = sections[one.User]
		all = append(all, one)
	}
	return all, next, nil
}

// invitee returns how a student stands with an invitation at a time.
func invitee(u *school.User, w school.WayIn, now int64) Invitee {
	one := Invitee{User: u.Handle, Name: u.Name, Email: u.Email, State: InviteNone, Bar: bar(u, w)}
	if t := w.Invitation; t != nil {
		one.token, one.By, one.Made, one.Expires = t.ID, t.By, t.Created, t.Expires
		one.Sent, one.mailed = t.Used, t.Name == mailedName
		switch {
		case t.Expires <= now:
			one.State = InviteExpired
		case t.Used > 0:
			one.State = InviteSent
		default:
			one.State = InviteMade
		}
	}
	switch {
	case one.Bar != "":
		one.State = InviteBarred
	case used(w):
		one.State = InviteUsed
	}
	return one
}

// Why students are not invited: an invitation gives its maker a way into the account.
const (
	BarRoles    = "roles"    // the user has roles for the whole cluster
	BarStaff    = "staff"    // the user teaches a class
	BarDisabled = "disabled" // the user may not sign in
)

func bar(u *school.User, w school.WayIn) string {
	switch {
	case len(u.Roles) > 0:
		return BarRoles
	case w.Staff:
		return BarStaff
	case u.Disabled:
		return BarDisabled
	}
	return ""
}

// used reports whether an account was in use before: it has a way in, or had one that an admin replaces by a link.
func used(w school.WayIn) bool { return w.Has() || w.Changed > 0 }

// Invite makes a link for each of some students of a class by which the student can sign in once, within the life,
// and then sets a password. It replaces the student's former invitation. Students who can sign in already, teach
// somewhere or have roles are CONFLICT if they are named, else left out. Returns NOTFOUND, FORBIDDEN, INVALID, LIMIT;
// links made before an error are valid, but lost: make them anew.
func (d *Service) Invite(ctx context.Context, a core.Actor, of Invites) (Invited, error) {
	if err := d.mayInvite(ctx, a, of.Class); err != nil {
		return Invited{}, err
	}
	if err := of.check(); err != nil {
		return Invited{}, err
	}
	whom, more, err := d.named(ctx, of)
	if err != nil {
		return Invited{}, err
	}
	made := Invited{Links: make([]Link, 0, len(whom)), More: more}
	for i := range whom {
		l, err := d.invite(ctx, a, of, &whom[i], "invitation")
		if err != nil {
			return Invited{}, err
		}
		made.Links = append(made.Links, l)
	}
	return made, nil
}

// named returns whom to invite, and whether there are more of them than one call takes.
func (d *Service) named(ctx context.Context, of Invites) (whom []Invitee, more bool, err error) {
	ask := slices.Compact(slices.Sorted(slices.Values(of.Users)))
	for after, first := "", true; first || after != ""; first = false {
		some, next, err := d.invitees(ctx, of.Class, after, MaxInvited)
		if err != nil {
			return nil, false, err
		}
		for i := range some {
			at, asked := slices.BinarySearch(ask, some[i].User)
			switch {
			case asked && !some[i].State.Open():
				return nil, false, notInvited(&some[i])
			case asked:
				ask = slices.Delete(ask, at, at+1)
			case len(of.Users) > 0 || some[i].State != InviteNone && some[i].State != InviteExpired:
				continue
			}
			if len(whom) == MaxInvited {
				return whom, true, nil
			}
			whom = append(whom, some[i])
		}
		after = next
	}
	if len(ask) > 0 {
		return nil, false, core.Errorf(core.CodeNotFound, ask[0], "no student of class %s has the handle %.64q", of.Class, ask[0])
	}
	return whom, false, nil
}

// notInvited says why a student cannot be invited.
func notInvited(one *Invitee) error {
	why := map[string]string{
		"":          "can sign in already, or could: an admin makes sign-in links for such users",
		BarRoles:    "has roles for the whole site: an admin makes sign-in links for such users",
		BarStaff:    "teaches a class: an admin makes sign-in links for such users",
		BarDisabled: "is disabled: an admin can enable it again",
	}[one.Bar]
	return core.Errorf(core.CodeConflict, one.User, "user %s is not invited: it %s", one.User, why)
}

// invite makes the invitation of one student, and removes the former ones.
func (d *Service) invite(ctx context.Context, a core.Actor, of Invites, one *Invitee, name string) (Link, error) {
	now := d.now().UnixMilli()
	l := Link{User: one.User, Name: one.Name, Email: one.Email, Secret: secrets.New(secrets.Link), Expires: now + of.life().Milliseconds(), token: d.newID()}
	t := school.Token{
		ID: l.token, Kind: school.TokenInvite, User: one.User, Name: name, Hash: secrets.Hash(l.Secret),
		Created: now, Expires: l.Expires, Class: of.Class, By: a.Handle,
	}
	text := fmt.Sprintf("invites %s until %s", one.User, time.UnixMilli(l.Expires).UTC().Format(time.DateOnly))
	return l, d.inClass(ctx, a, of.Class, one.User, text, func() error {
		if err := d.withdraw(ctx, one); err != nil {
			return err
		}
		return d.Store.AddToken(ctx, t)
	})
}

// withdraw removes the invitations of a student.
func (d *Service) withdraw(ctx context.Context, one *Invitee) error {
	if one.token == "" {
		return nil
	}
	all, err := d.Store.Tokens(ctx, one.User, school.TokenInvite)
	if err != nil {
		return err
	}
	for i := range all {
		if _, err := d.Store.RemoveToken(ctx, one.User, all[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// inClass is change with an entry that the class's teachers read.
func (d *Service) inClass(ctx context.Context, a core.Actor, class, user, text string, do func() error) error {
	return d.log().Do(ctx, a, core.AuditEntry{Action: core.ActInvite, Class: class, Subject: user, Text: text}, do)
}

// Withdraw ends the invitations of students of a class. Students without one are left out. Returns NOTFOUND,
// FORBIDDEN, LIMIT.
func (d *Service) Withdraw(ctx context.Context, a core.Actor, class string, users []string) (withdrawn int, err error) {
	if err := d.mayInvite(ctx, a, class); err != nil {
		return 0, err
	}
	if err := school.CheckKeys(users); err != nil {
		return 0, err
	}
	ask := slices.Sorted(slices.Values(users))
	for after, first := "", true; first || after != ""; first = false {
		some, next, err := d.invitees(ctx, class, after, MaxInvited)
		if err != nil {
			return withdrawn, err
		}
		for i := range some {
			one := &some[i]
			if _, asked := slices.BinarySearch(ask, one.User); !asked || one.token == "" {
				continue
			}
			text := "withdraws the invitation of " + one.User
			if err := d.inClass(ctx, a, class, one.User, text, func() error { return d.withdraw(ctx, one) }); err != nil {
				return withdrawn, err
			}
			withdrawn++
		}
		after = next
	}
	return withdrawn, nil
}

// invited returns ErrLink if an invitation may not be used any more: its user is no student of the class any more, has
// become more than a student, or has signed in.
func (d *Service) invited(ctx context.Context, t school.Token, u *school.User) error {
	if t.Kind != school.TokenInvite {
		return nil
	}
	in, err := d.Store.Memberships(ctx, u.Handle)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(in, func(e school.Enrolment) bool { return e.Class == t.Class && e.Role == core.RoleStudent }) {
		return ErrLink
	}
	ways, err := d.Store.WaysIn(ctx, []string{u.Handle})
	if err != nil {
		return err
	}
	if len(ways) != 1 || bar(u, ways[0]) != "" || used(ways[0]) {
		return ErrLink
	}
	return nil
}
