package lti

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
)

// Pending is what is sealed while a user decides something about a launch.
type Pending struct {
	User       string        `json:"u"` // who decides
	Browser    string        `json:"b"` // hash of the cookie of the browser that launched
	Platform   string        `json:"p"`
	Subject    string        `json:"s,omitempty"`
	Deployment string        `json:"d"`
	Context    string        `json:"c"`
	Title      string        `json:"t,omitempty"`
	Link       string        `json:"l,omitempty"`
	LinkTitle  string        `json:"lt,omitempty"`
	LineItem   string        `json:"i,omitempty"`
	Role       core.UserRole `json:"r,omitempty"`
	Members    string        `json:"m,omitempty"`
	Deep       *Deep         `json:"dl,omitempty"`
	Framed     bool          `json:"f,omitempty"` // decided in a frame, where nobody is signed in
	Expires    int64         `json:"x"`
}

const pendingPurpose = "pending"

// pendingLife is how long somebody may think about a decision.
const pendingLife = 2 * LoginLife

// pending seals a decision.
func (s *Service) pending(ctx context.Context, l *Launch, user string) (string, error) {
	return s.Seal(ctx, pendingPurpose, Pending{
		User: user, Browser: l.Browser, Platform: l.Platform.ID, Subject: l.Subject, Deployment: l.Deployment, Context: l.Context, Title: l.Title, Link: l.Link, LinkTitle: l.LinkTitle,
		LineItem: l.LineItem, Role: l.Role, Members: l.Members, Deep: l.Deep, Framed: l.Framed, Expires: s.now().Add(pendingLife).UnixMilli(),
	})
}

// Pending reads a decision that is the actor's. Returns FORBIDDEN.
func (s *Service) Pending(ctx context.Context, a core.Actor, sealed string) (Pending, school.LTIPlatform, error) {
	d, p, who, err := s.decider(ctx, a, sealed)
	if err == nil && who.Handle != a.Handle {
		err = forbidden("this is for user %s: sign in as that user", d.User)
	}
	return d, p, err
}

// decider reads a decision, and who decides: the actor. In a frame nobody is signed in; there the sealed text says who
// decides, for what a frame is allowed to do. Returns FORBIDDEN.
func (s *Service) decider(ctx context.Context, a core.Actor, sealed string) (Pending, school.LTIPlatform, core.Actor, error) {
	var d Pending
	if err := s.Open(ctx, pendingPurpose, sealed, &d); err != nil {
		return d, school.LTIPlatform{}, a, err
	}
	if s.now().UnixMilli() > d.Expires {
		return d, school.LTIPlatform{}, a, expired()
	}
	if d.Framed {
		var err error
		if a, err = s.Classes.Actor(ctx, d.User); err != nil {
			return d, school.LTIPlatform{}, a, err
		}
	}
	if d.User != a.Handle {
		return d, school.LTIPlatform{}, a, forbidden("this is for user %s: sign in as that user", d.User)
	}
	p, err := s.platform(ctx, d.Platform)
	return d, p, a, err
}

// Entry is what follows an accepted launch.
type Entry struct {
	In     *account.SignedIn // nil: nobody is signed in
	To     string            // a path of this site
	Choose string            // in a frame: the sealed decision, which is shown there and not by its path
	Window bool              // in a frame: a window has to do it first
}

// Enter signs the user of a launch in, makes it a member of the course's class, and says where it goes. Returns
// FORBIDDEN.
func (s *Service) Enter(ctx context.Context, l *Launch) (Entry, error) {
	if l.Role == "" || l.Context == "" {
		return Entry{}, forbidden("the learning platform does not say that you teach or learn in a course")
	}
	if l.Deep != nil && l.Role == core.RoleStudent {
		return Entry{}, forbidden("only who teaches a course chooses what is linked in it")
	}
	c, err := s.course(ctx, l.Platform.ID, l.Deployment, l.Context)
	if core.Is(err, core.CodeNotFound) {
		if l.Role != core.RoleTeacher {
			return Entry{}, forbidden("this course is not connected with a class yet: a teacher of the course has to open the link first")
		}
		err = nil
	}
	if err != nil {
		return Entry{}, err
	}
	in, err := s.user(ctx, l)
	if core.Is(err, core.CodeConflict) { // an account of somebody who has another way in
		if l.Framed {
			return Entry{Window: true}, nil
		}
		handle := handleOf(err)
		sealed, err := s.pending(ctx, l, handle)
		return Entry{To: "/lti/tie?" + url.Values{"t": {sealed}}.Encode()}, err
	}
	if err != nil {
		return Entry{}, err
	}
	handle := in.User.Handle
	if l.Framed && c.Class == "" {
		sealed, err := s.pending(ctx, l, handle)
		return Entry{Choose: sealed}, err
	}
	if c.Class == "" {
		sealed, err := s.pending(ctx, l, handle)
		return Entry{In: &in, To: "/lti/connect?" + url.Values{"t": {sealed}}.Encode()}, err
	}
	if err := s.join(ctx, c, handle, l.Role); err != nil {
		return Entry{}, err
	}
	if err := s.meet(ctx, c, l, handle); err != nil {
		return Entry{}, err
	}
	if err := s.learn(ctx, c, l); err != nil {
		return Entry{}, err
	}
	if l.Framed {
		sealed, err := s.pending(ctx, l, handle)
		return Entry{Choose: sealed}, err
	}
	to, err := s.destination(ctx, c.Class, l, handle)
	return Entry{In: &in, To: to}, err
}

// user signs in the user of a launch, who is created if nobody is like it.
func (s *Service) user(ctx context.Context, l *Launch) (account.SignedIn, error) {
	issuer := identity(&l.Platform)
	in, err := s.Accounts.SignInPlatform(ctx, account.Claim{Issuer: issuer, Subject: l.Subject, Email: l.Email})
	if !core.Is(err, core.CodeNotFound) {
		return in, err
	}
	m := school.LTIMember{Platform: l.Platform.ID, Context: l.Context, Subject: l.Subject}
	if m, _, err = get[school.LTIMember](ctx, s.Store, school.LTIMembers, m.ID()); err == nil && m.Made > 0 {
		in, err = s.Accounts.SignInMade(ctx, m.User, m.Made, issuer, l.Subject)
		if !core.Is(err, core.CodeNotFound) {
			return in, err
		}
	}
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return in, err
	}
	handle, err := s.create(ctx, l)
	if err != nil {
		return in, err
	}
	return s.Accounts.TieIdentity(ctx, core.Actor{Handle: handle}, issuer, l.Subject)
}

// tries is how many handles are tried for a new user.
const tries = 20

// create makes the user of a launch.
func (s *Service) create(ctx context.Context, l *Launch) (string, error) {
	u := school.User{Name: l.Name, Email: strings.ToLower(l.Email)}
	if key, byEmail, err := school.UserKey(u.Email); err != nil || !byEmail || key != u.Email {
		u.Email = ""
	}
	base := handleFor(l)
	for n := 1; ; n++ {
		if u.Handle = base; n > 1 {
			u.Handle = fmt.Sprintf("%s-%d", base, n)
		}
		if n >= tries {
			u.Handle = "lti-" + school.LTIID(identity(&l.Platform), l.Subject)[:32]
		}
		made, err := s.Classes.CreateUser(ctx, core.System(), u)
		if err == nil {
			return made.Handle, nil
		}
		reserved := core.Is(err, core.CodeInvalid) && n == 1
		if n >= tries || !core.Is(err, core.CodeConflict) && !reserved {
			return "", err
		}
	}
}

// handleFor makes a handle of an address or a name.
func handleFor(l *Launch) string {
	text, _, _ := strings.Cut(l.Email, "@")
	if text == "" {
		text = l.Name
	}
	text = strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			return c
		case 'A' <= c && c <= 'Z':
			return c + 'a' - 'A'
		}
		return '-'
	}, text)
	parts := strings.FieldsFunc(text, func(c rune) bool { return c == '-' })
	text = strings.Join(parts, "-")
	text = strings.Trim(text[:min(len(text), 40)], "-")
	if text == "" {
		return "lti-" + school.LTIID(identity(&l.Platform), l.Subject)[:32]
	}
	return text
}

func handleOf(err error) string {
	var e *core.Error
	if errors.As(err, &e) {
		return e.ID
	}
	return ""
}

// rank orders roles of a class; no role is below all of them.
func rank(r core.UserRole) int {
	return slices.Index([]core.UserRole{core.RoleStudent, core.RoleAssistant, core.RoleTeacher}, r)
}

// join makes a user a member of a course's class. A launch raises a role and never lowers it, so that a platform
// cannot take a class from those who teach it here.
func (s *Service) join(ctx context.Context, c school.LTICourse, user string, role core.UserRole) error {
	a, err := s.Classes.Actor(ctx, user)
	if err != nil || rank(a.In[c.Class]) >= rank(role) {
		return err
	}
	return s.Classes.Enrol(ctx, core.System(), c.Class, user, role)
}

// meet keeps by which name the platform knows a member, for scores.
func (s *Service) meet(ctx context.Context, c school.LTICourse, l *Launch, user string) error {
	m := school.LTIMember{Platform: c.Platform, Context: c.Context, Subject: l.Subject, User: user, Class: c.Class}
	if err := m.Check(); err != nil {
		return err
	}
	have, revision, err := get[school.LTIMember](ctx, s.Store, school.LTIMembers, m.ID())
	if err == nil && have == m {
		return nil
	}
	if err != nil && !core.Is(err, core.CodeNotFound) {
		return err
	}
	_, err = put(ctx, s.Store, school.LTIRecord{Kind: school.LTIMembers, ID: m.ID(), Class: m.Class, Revision: revision}, m)
	if core.Is(err, core.CodeConflict) {
		return nil // another launch of the same user has kept it
	}
	return err
}

// learn keeps where the platform says who is in a course. Only what staff open is believed to be of the course.
func (s *Service) learn(ctx context.Context, c school.LTICourse, l *Launch) error {
	if l.Members == "" || l.Members == c.Members || l.Role == core.RoleStudent {
		return nil
	}
	c.Members = l.Members
	err := s.putCourse(ctx, c)
	if core.Is(err, core.CodeConflict) {
		return nil // another launch has kept it
	}
	return err
}

// destination returns where a launch leads: to the link's assignment, to the choice of one, or to the class.
func (s *Service) destination(ctx context.Context, class string, l *Launch, user string) (string, error) {
	home := "/classes/" + class
	if l.Deep != nil {
		sealed, err := s.pending(ctx, l, user)
		return "/lti/deep?" + url.Values{"t": {sealed}}.Encode(), err
	}
	link, err := s.linked(ctx, class, l)
	if err != nil {
		return "", err
	}
	if link.Assignment != "" {
		return home + "/assignments/" + link.Assignment, nil
	}
	a, err := s.Classes.Actor(ctx, user)
	if err != nil || !a.StaffOf(class) {
		return home, err
	}
	sealed, err := s.pending(ctx, l, user)
	return "/lti/link?" + url.Values{"t": {sealed}}.Encode(), err
}

// linked returns the link of a launch, with the assignment that it leads to; "" for none.
func (s *Service) linked(ctx context.Context, class string, l *Launch) (school.LTILink, error) {
	wanted := school.LTILink{
		Platform: l.Platform.ID, Deployment: l.Deployment, Context: l.Context, Link: l.Link, Class: class, LineItem: l.LineItem, At: s.now().UnixMilli(),
	}
	have, err := s.link(ctx, wanted)
	switch {
	case err == nil && have.Class == class:
		if l.LineItem == "" || l.LineItem == have.LineItem {
			return have, nil
		}
		have.LineItem = l.LineItem
	case err != nil && !core.Is(err, core.CodeNotFound):
		return have, err
	default:
		handle := l.Assignment
		if !core.ValidName(handle) {
			return school.LTILink{}, nil
		}
		if _, err := s.Classes.ViewAssignment(ctx, core.System(), class, handle); err != nil {
			if core.Is(err, core.CodeNotFound) {
				err = nil
			}
			return school.LTILink{}, err
		}
		wanted.Assignment, wanted.Revision = handle, have.Revision
		have = wanted
	}
	if err := s.putLink(ctx, have); err != nil && !core.Is(err, core.CodeConflict) {
		return have, err
	}
	return have, nil
}
