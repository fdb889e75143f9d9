package school

import (
	"cmp"
	"context"
	"strings"

	"drover/core"
	"drover/core/service/pattern"
)

// User is a person, or a program that acts as one.
type User struct {
	Handle   string          `json:"handle"`          // its permanent name, valid by CheckName; the submitter of its requests
	Name     string          `json:"name,omitempty"`  // shown to people
	Email    string          `json:"email,omitempty"` // lower case; no two users have the same
	Roles    []core.UserRole `json:"roles,omitempty"` // for the whole cluster
	Disabled bool            `json:"disabled,omitempty"`
	Created  int64           `json:"created_ms"`
	Revision int64           `json:"revision"` // grows with every change; 0 is a user that is not stored yet
}

// Class is a class of students.
type Class struct {
	Handle   string `json:"handle"` // its permanent name, such as cs101-2026
	Title    string `json:"title"`
	Term     string `json:"term,omitempty"`
	LateDays int    `json:"late_days,omitempty"` // of each student, which cover penalties; see Rules
	Created  int64  `json:"created_ms"`
	Deleting bool   `json:"deleting,omitempty"` // a task deletes it and all its contents
	Revision int64  `json:"revision"`
}

// Enrolment says that a user is in a class.
type Enrolment struct {
	Class   string        `json:"class"`
	User    string        `json:"user"`
	Role    core.UserRole `json:"role"`
	Section string        `json:"section,omitempty"` // a part of the class, such as a tutorial group; "" for none
	Since   int64         `json:"since_ms"`
}

// Roster keeps users, classes and enrolments.
//
// Every Put creates a record of Revision 0, and otherwise changes the record of exactly that revision. It returns the
// new revision, CONFLICT if the name is taken or somebody else changed the record, NOTFOUND if it is gone. It checks
// the names that are keys; the caller has called the record's Check if anything in it came from outside. The limit of a
// list is 1 to 1000; a list of something unknown is empty.
type Roster interface {
	// PutUser returns CONFLICT also if the e-mail address is another's.
	PutUser(ctx context.Context, u User) (revision int64, err error)
	// GetUser finds a user by handle, or by e-mail address if the text has an "@". Returns NOTFOUND.
	GetUser(ctx context.Context, handle string) (User, error)
	// GetUsers finds users by handles and e-mail addresses, at most MaxKeys, in order of handle. Texts that name nobody
	// are left out.
	GetUsers(ctx context.Context, keys []string) ([]User, error)
	// ListUsers lists users with handles after the given one, in order of handle.
	ListUsers(ctx context.Context, after string, limit int) ([]User, error)
	// DeleteUser removes a user with its personal deadlines, its account, tokens and
	// identities. Returns CONFLICT while it is enrolled or has submissions.
	DeleteUser(ctx context.Context, handle string) error

	PutClass(ctx context.Context, c Class) (revision int64, err error)
	GetClass(ctx context.Context, handle string) (Class, error)
	ListClasses(ctx context.Context, after string, limit int) ([]Class, error)
	// DeleteClass removes a class with its enrolments and webhooks. Returns CONFLICT
	// while it has assignments.
	DeleteClass(ctx context.Context, handle string) error

	// Enrol puts a user into a class, or changes the user's role there. Returns NOTFOUND if there is no such user or
	// class, CONFLICT if the class is being deleted, LIMIT for more than MaxMemberships.
	Enrol(ctx context.Context, e Enrolment) error
	// Drop takes a user out of a class; submissions stay. Returns false if the user was not in the class.
	Drop(ctx context.Context, class, user string) (bool, error)
	// Members lists the members of a class, users after the given one, in order of user.
	Members(ctx context.Context, class, after string, limit int) ([]Enrolment, error)
	// Memberships lists the classes of a user, in order of class; at most MaxMemberships.
	Memberships(ctx context.Context, user string) ([]Enrolment, error)

	// PutRosterImport makes or changes the record of a class's last import. Returns NOTFOUND also if there is no such
	// class. DeleteClass removes it.
	PutRosterImport(ctx context.Context, i RosterImport) (revision int64, err error)
	// GetRosterImport returns the record of a class's last import. Returns NOTFOUND.
	GetRosterImport(ctx context.Context, class string) (RosterImport, error)
}

// MaxMemberships bounds the classes that one user is in.
const MaxMemberships = 500

// The bounds of users.
const (
	MaxEmail = 254 // bytes, as RFC 5321 has it
	MaxRoles = 8   // for the whole cluster

	MaxSection = 40 // bytes of a section's name
)

// mail is the form of an e-mail address: one "@" with something on both sides,
// nothing that a header or a list of addresses would take for more than text.
var mail = pattern.New(`^[^\s\pC@"(),:;<>\[\]\\]+@[^\s\pC@"(),:;<>\[\]\\]+$`)

func checkEmail(id, s string) error {
	if err := core.CheckLine(id, "e-mail address", s, MaxEmail); err != nil {
		return err
	}
	if !mail().MatchString(s) || strings.ToLower(s) != s {
		return core.Errorf(core.CodeInvalid, id, "%q is not an e-mail address of the form name@place in lower case", s)
	}
	return nil
}

// Check returns INVALID or LIMIT.
func (u User) Check() error {
	if err := core.CheckName("user", u.Handle); err != nil {
		return err
	}
	if u.Email != "" {
		if err := checkEmail(u.Handle, u.Email); err != nil {
			return err
		}
	}
	if len(u.Roles) > MaxRoles {
		return core.Errorf(core.CodeLimit, u.Handle, "user %s has %d roles, at most %d are allowed", u.Handle, len(u.Roles), MaxRoles)
	}
	for _, role := range u.Roles {
		if !role.Valid() {
			return core.Errorf(core.CodeInvalid, u.Handle, "%.40q is no role for the whole cluster: use %s, %s, %s or %s; others are held in a class",
				role, core.RoleAdmin, core.RoleOperator, core.RoleObserver, core.RoleRunner)
		}
	}
	return cmp.Or(core.CheckLine(u.Handle, "name", u.Name, core.MaxLine), core.CheckTimes(u.Handle, u.Created))
}

// UserKey says how a text names a user: by e-mail address or else by handle.
// Returns INVALID.
func UserKey(s string) (key string, byEmail bool, err error) {
	if strings.Contains(s, "@") {
		key = strings.ToLower(s)
		return key, true, checkEmail("a user", key)
	}
	return s, false, core.CheckName("user", s)
}

// Check returns INVALID or LIMIT.
func (c Class) Check() error {
	if c.LateDays < 0 || c.LateDays > MaxLateDays {
		return core.Errorf(core.CodeInvalid, c.Handle, "%d late days are not possible: use 0 to %d", c.LateDays, MaxLateDays)
	}
	return cmp.Or(
		core.CheckName("class", c.Handle),
		core.CheckTitle(c.Handle, "title", c.Title),
		core.CheckLine(c.Handle, "term", c.Term, core.MaxLine),
		core.CheckTimes(c.Handle, c.Created),
	)
}

// Check returns INVALID.
func (e Enrolment) Check() error {
	if err := core.CheckNames("class", e.Class, "user", e.User); err != nil {
		return err
	}
	if !e.Role.InClass() {
		return core.Errorf(core.CodeInvalid, e.User, "%.40q is no role in a class: use %s, %s or %s",
			e.Role, core.RoleTeacher, core.RoleAssistant, core.RoleStudent)
	}
	return cmp.Or(core.CheckLine(e.User, "section", e.Section, MaxSection), core.CheckTimes(e.User, e.Since))
}
