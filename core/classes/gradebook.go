package classes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/school"
)

// BookFilter selects rows of a gradebook. A zero field matches every student.
type BookFilter struct {
	Section string
	Name    string // a part of handle, name or e-mail address, ignoring case
	After   string // users after this one
	Limit   int    // 1 to 1000
}

// Book is a part of a class's gradebook: students with what counts of each for each assignment.
type Book struct {
	Class    school.Class        `json:"class"`
	Columns  []school.Assignment `json:"-"`
	Rows     []BookRow           `json:"rows"`
	Sections []string            `json:"sections,omitempty"` // of the class
	Students int                 `json:"students"`           // that the filter matches
	Next     string              `json:"next,omitempty"`     // After of the next part; "" if this is the last
}

// BookRow is a student of a gradebook.
type BookRow struct {
	Member
	Cells     []BookCell `json:"cells"` // as Columns
	Total     float64    `json:"total"`
	DaysSpent int        `json:"late_days_spent,omitempty"`
}

// BookCell is what counts of a student for one assignment.
type BookCell struct {
	*school.Counted
	Missing bool `json:"missing,omitempty"` // nothing was submitted, and it is past the student's due date
}

// Most returns the maximum score of each column as the submissions of this part know it, and the sum.
func (b *Book) Most() (most []float64, sum float64) {
	most = make([]float64, len(b.Columns))
	for _, row := range b.Rows {
		for i, cell := range row.Cells {
			if cell.Counted != nil && cell.MaxScore != nil {
				most[i] = max(most[i], *cell.MaxScore)
			}
		}
	}
	for _, m := range most {
		sum += m
	}
	return most, sum
}

// Gradebook returns a part of a class's gradebook, in order of user. Returns NOTFOUND, FORBIDDEN, INVALID.
func (r *Service) Gradebook(ctx context.Context, a core.Actor, class string, f BookFilter) (Book, error) {
	if _, err := r.class(ctx, a, class, core.ActGradeView); err != nil {
		return Book{}, err
	}
	if f.Limit < 1 || f.Limit > 1000 {
		return Book{}, core.Errorf(core.CodeInvalid, class, "a part of %d students cannot be: ask for 1 to 1000", f.Limit)
	}
	term, err := school.ReadTerm(ctx, r.Store, class, "")
	if err != nil {
		return Book{}, err
	}
	b := Book{Class: term.Class, Columns: term.Assignments, Rows: []BookRow{}}
	slices.SortStableFunc(b.Columns, func(x, y school.Assignment) int {
		return cmp.Or(cmp.Compare(end(x), end(y)), strings.Compare(x.Handle, y.Handle))
	})
	members, err := r.bookMembers(ctx, &b, class, f)
	if err != nil || len(members) == 0 {
		return b, err
	}
	users := make([]string, len(members))
	for i := range members {
		users[i] = members[i].User
	}
	counted, err := term.Count(ctx, r.Store, users)
	if err != nil {
		return Book{}, err
	}
	now := r.now()
	for _, m := range members {
		b.Rows = append(b.Rows, b.row(m, term.For(m.User), counted[m.User], now))
	}
	return b, nil
}

// row returns the row of a student.
func (b *Book) row(m Member, its map[string]*school.Assignment, counted map[string]*school.Counted, now time.Time) BookRow {
	row := BookRow{Member: m, Cells: make([]BookCell, len(b.Columns))}
	for i := range b.Columns {
		as := its[b.Columns[i].Handle]
		cell := BookCell{Counted: counted[as.Handle]}
		if cell.Counted == nil {
			cell.Missing = as.Due != 0 && now.UnixMilli() > as.Due
		} else {
			row.DaysSpent += cell.Spent
			if cell.Final != nil {
				row.Total += *cell.Final
			}
		}
		row.Cells[i] = cell
	}
	return row
}

// bookMembers returns the students of a part, and notes what the filter matches. Names are read only of those that are
// shown, unless they are searched.
func (r *Service) bookMembers(ctx context.Context, b *Book, class string, f BookFilter) ([]Member, error) {
	var shown []Member
	query := RosterQuery{Text: f.Name}
	for after := ""; ; {
		some, err := r.Store.Members(ctx, class, after, page)
		if err != nil {
			return nil, err
		}
		full := len(some) == page
		if full {
			after = some[page-1].User
		}
		members, err := r.searched(ctx, b.students(some, f), f)
		if err != nil {
			return nil, err
		}
		for i := range members {
			if query.selects(&members[i]) {
				b.Students++
				if members[i].User > f.After && len(shown) <= f.Limit {
					shown = append(shown, members[i])
				}
			}
		}
		if !full {
			break
		}
	}
	slices.Sort(b.Sections)
	if len(shown) > f.Limit {
		shown = shown[:f.Limit]
		b.Next = shown[f.Limit-1].User
	}
	if f.Name != "" {
		return shown, nil
	}
	in := make([]school.Enrolment, len(shown))
	for i := range shown {
		in[i] = shown[i].Enrolment
	}
	return r.named(ctx, in)
}

// students returns the students of a section, and notes all sections.
func (b *Book) students(in []school.Enrolment, f BookFilter) []school.Enrolment {
	var all []school.Enrolment
	for _, e := range in {
		if e.Role != core.RoleStudent {
			continue
		}
		if e.Section != "" && !slices.Contains(b.Sections, e.Section) {
			b.Sections = append(b.Sections, e.Section)
		}
		if f.Section == "" || e.Section == f.Section {
			all = append(all, e)
		}
	}
	return all
}

// searched returns members, with their names if these are searched.
func (r *Service) searched(ctx context.Context, in []school.Enrolment, f BookFilter) ([]Member, error) {
	if f.Name != "" {
		return r.named(ctx, in)
	}
	all := make([]Member, len(in))
	for i, e := range in {
		all[i] = Member{Enrolment: e}
	}
	return all, nil
}

// Counts returns the submission of a user to an assignment that counts, with what lateness costs; nil if there is
// none. Returns NOTFOUND, FORBIDDEN for another user's.
func (r *Service) Counts(ctx context.Context, a core.Actor, class, assignment, user string) (*school.Counted, error) {
	if _, err := r.assignment(ctx, a, class, assignment, core.ActAssignmentView, ""); err != nil {
		return nil, err
	}
	if err := core.Allow(a, core.ActSubmissionView, core.Object{Class: class, Owner: user}); err != nil {
		return nil, err
	}
	term, err := school.ReadTerm(ctx, r.Store, class, user)
	if err != nil {
		return nil, err
	}
	counted, err := term.Count(ctx, r.Store, []string{user})
	return counted[user][assignment], err
}

// SetSection puts a member of a class into a section of it; "" is none. Returns NOTFOUND, FORBIDDEN, INVALID, CONFLICT.
func (r *Service) SetSection(ctx context.Context, a core.Actor, class, user, section string) error {
	if _, err := r.openClass(ctx, a, class, core.ActRosterView); err != nil {
		return err
	}
	e, err := r.enrolled(ctx, class, user)
	if err != nil {
		return err
	}
	if err := core.Allow(a, enrolling(e.Role), core.Object{Class: class}); err != nil || e.Section == section {
		return err
	}
	text := "puts " + user + " into section " + section
	if section == "" {
		text = "takes " + user + " out of section " + e.Section
	}
	e.Section = section
	if err := e.Check(); err != nil {
		return err
	}
	entry := core.AuditEntry{Action: enrolling(e.Role), Class: class, Subject: user, Text: text}
	return r.change(ctx, a, entry, func() error { return r.Store.Enrol(ctx, e) })
}
