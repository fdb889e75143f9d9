package lti

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// comparing bounds how often one course's list is asked for.
var comparing = core.Rate{Every: 10 * time.Second, Burst: 6}

// Compared is what a platform's list of a course would change in the class, or changed.
type Compared struct {
	Course   school.LTICourse
	Platform school.LTIPlatform
	Imported classes.Imported
	Strange  []Person         // whose role is none of a class, or who is not let in: they are not imported
	Gone     []classes.Member // who came from the course once, and are not in the list any more
	Seen     string           // names what was compared
}

// Courses lists the courses that are connected with a class. Returns NOTFOUND, FORBIDDEN.
func (s *Service) Courses(ctx context.Context, a core.Actor, class string) ([]school.LTICourse, error) {
	if err := s.mayView(ctx, a, class); err != nil {
		return nil, err
	}
	return all(ctx, s.Store, school.LTICourses, class, func(c *school.LTICourse, r school.LTIRecord) { c.Revision = r.Revision })
}

func (s *Service) mayView(ctx context.Context, a core.Actor, class string) error {
	if _, err := s.Classes.ViewClass(ctx, a, class); err != nil {
		return err
	}
	return core.Allow(a, core.ActRosterView, core.Object{Class: class})
}

// Compare compares the platform's list of a course, by its id, with the class, and changes nothing; Take then imports
// it. Returns NOTFOUND, FORBIDDEN, INVALID, LIMIT, UNAVAILABLE.
func (s *Service) Compare(ctx context.Context, a core.Actor, class, course string) (Compared, error) {
	return s.compare(ctx, a, class, course, "", true)
}

// Take imports the platform's list of a course into the class, if it is still what was seen. Nobody is removed, and no
// role is lowered. UndoImport of the class undoes it. Returns what Compare does, and CONFLICT if the list is another
// by now.
func (s *Service) Take(ctx context.Context, a core.Actor, class, course, seen string) (Compared, error) {
	return s.compare(ctx, a, class, course, seen, false)
}

func (s *Service) compare(ctx context.Context, a core.Actor, class, course, seen string, dry bool) (d Compared, err error) {
	if err := s.mayView(ctx, a, class); err != nil {
		return d, err
	}
	if err := core.Allow(a, core.ActEnrolStudent, core.Object{Class: class}); err != nil {
		return d, err
	}
	c, revision, err := get[school.LTICourse](ctx, s.Store, school.LTICourses, course)
	if core.Is(err, core.CodeNotFound) || err == nil && c.Class != class {
		return d, core.Errorf(core.CodeNotFound, class, "class %s is not connected with this course", class)
	}
	if err != nil {
		return d, err
	}
	d.Course = c
	d.Course.Revision = revision
	if d.Platform, err = s.platform(ctx, c.Platform); err != nil {
		return d, err
	}
	got, err := s.Limits.Take(ctx, "lti-members:"+course, comparing, 1)
	if err == nil && !got.Allowed {
		err = core.Errorf(core.CodeLimit, class, "the course's list was asked for often just now: wait a moment")
	}
	if err != nil {
		return d, err
	}
	people, err := s.people(ctx, &d.Platform, &c)
	if err != nil {
		return d, err
	}
	k, err := s.known(ctx, a, &d.Platform, &c, people)
	if err != nil {
		return d, err
	}
	table, lines := k.table(people, &d)
	if seen != "" && seen != d.Seen {
		return d, core.Errorf(core.CodeConflict, class, "the course's list has changed since it was compared: look at the changes again")
	}
	if len(lines) == 0 {
		return d, nil
	}
	d.Imported, err = s.Classes.ImportRoster(ctx, a, class, bytes.NewReader(table), classes.ImportOptions{DryRun: dry, Vouched: true, Made: s.makes(ctx, &c, lines)})
	return d, err
}

// makes keeps by which name the platform knows a user that an import makes, so that its first launch finds it.
func (s *Service) makes(ctx context.Context, c *school.LTICourse, lines map[int]Person) func(int, school.User) {
	var one sync.Mutex
	return func(at int, u school.User) {
		one.Lock()
		defer one.Unlock()
		m := school.LTIMember{Platform: c.Platform, Context: c.Context, Subject: lines[at].Subject, User: u.Handle, Class: c.Class, Made: u.Created}
		if m.Check() != nil {
			return
		}
		r := school.LTIRecord{Kind: school.LTIMembers, ID: m.ID(), Class: m.Class}
		if have, err := s.Store.GetLTI(ctx, r.Kind, r.ID); err == nil {
			r.Revision = have.Revision
		}
		_, _ = put(ctx, s.Store, r, m) // without it the first launch finds the user by its address, or makes another
	}
}

// known is whom this site knows of a course.
type known struct {
	users   map[string]string // subject → user
	members map[string]classes.Member
}

func (s *Service) known(ctx context.Context, a core.Actor, p *school.LTIPlatform, c *school.LTICourse, people []Person) (*known, error) {
	k := &known{users: map[string]string{}, members: map[string]classes.Member{}}
	for after := ""; ; {
		some, err := s.Classes.FindMembers(ctx, a, c.Class, classes.RosterQuery{After: after, Limit: page})
		if err != nil {
			return nil, err
		}
		for _, m := range some {
			k.members[m.User], after = m, m.User
		}
		if len(some) < page {
			break
		}
	}
	came, err := all(ctx, s.Store, school.LTIMembers, c.Class, func(*school.LTIMember, school.LTIRecord) {})
	if err != nil {
		return nil, err
	}
	for i := range came {
		if m := &came[i]; m.Platform == c.Platform && m.Context == c.Context {
			if _, in := k.members[m.User]; in || m.Made == 0 {
				k.users[m.Subject] = m.User
			}
		}
	}
	for i := range people {
		one := &people[i]
		if k.users[one.Subject] != "" || one.Subject == "" {
			continue
		}
		id, err := s.Accounts.Store.GetIdentity(ctx, identity(p), one.Subject) // of somebody who came to another class
		if err == nil {
			k.users[one.Subject] = id.User
		} else if !core.Is(err, core.CodeNotFound) {
			return nil, err
		}
	}
	return k, nil
}

// table writes people as a roster that can be imported, and says which line is whose. Whom it leaves out, it lists.
func (k *known) table(people []Person, d *Compared) ([]byte, map[int]Person) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	write := func(cells ...string) { _ = w.Write(cells) } // a buffer takes everything
	write(classes.ColHandle, classes.ColEmail, classes.ColName, classes.ColRole)
	lines, here := map[int]Person{}, map[string]bool{}
	for _, one := range people {
		user := k.users[one.Subject]
		switch {
		case one.Away || one.Role == "":
			d.Strange = append(d.Strange, one)
			here[user] = here[user] || !one.Away
			continue
		case here[user] && user != "":
			continue // twice in the list
		}
		here[user] = true
		lines[len(lines)+2] = one
		role := string(one.Role)
		if m, in := k.members[user]; in && rank(m.Role) >= rank(one.Role) {
			role = ""
		}
		if user != "" {
			write(user, "", "", role)
		} else {
			write("", one.Email, one.Name, role)
		}
	}
	w.Flush()
	for _, user := range k.users {
		if m, in := k.members[user]; in && !here[user] {
			here[user] = true
			d.Gone = append(d.Gone, m)
		}
	}
	slices.SortFunc(d.Gone, func(a, b classes.Member) int { return strings.Compare(a.User, b.User) })
	sum := sha256.Sum256(b.Bytes())
	d.Seen = hex.EncodeToString(sum[:16])
	return b.Bytes(), lines
}
