package taskrunner

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"drover/core"
	"drover/core/classes/portable"
	"drover/core/school"
)

const (
	maxCSVBytes = 1 << 30
	maxColumns  = 1000 // assignments of a gradebook
	csvType     = "text/csv; charset=utf-8"
)

// noScore is the cell of an assignment's CSV where there is no score.
const noScore = "None"

// score formats a score as a plain number; none is used if there is no score.
func score(f *float64, none string) string {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return none
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

// Scores makes lists of scores. A person's grade takes precedence over the result's score. Users are named by e-mail
// address or, without one, by handle.
type Scores struct {
	Store interface {
		school.Roster
		school.Assignments
		school.Submissions
	}
	downloads
}

// AssignmentCSV is school.KindAssignmentCSV: one row for the submission of each user that counts, with its score after
// penalties and its time.
// Staff of the class are left out; former members are included.
func (s *Scores) AssignmentCSV() Kind {
	return Kind{Name: school.KindAssignmentCSV, Handle: func(ctx context.Context, job *Job) (End, error) {
		var args school.AssignmentCSVArgs
		if err := job.Args(&args); err != nil {
			return End{}, err
		}
		as, err := opened(ctx, s.Store, args.Class, args.Assignment)
		if err != nil {
			return End{}, err
		}
		staff, err := staffOf(ctx, s.Store, args.Class)
		if err != nil {
			return End{}, err
		}
		return s.table(ctx, job, args.Class+"-"+args.Assignment+".csv", func(t *table) error {
			if !args.NoHeader {
				if err := t.row("Username", "Score", "Submitted"); err != nil {
					return err
				}
				t.rows--
			}
			return eachWorth(ctx, s.Store, &as, func(st *school.Standing) error {
				if staff[st.Submission.User] {
					return nil
				}
				user, err := s.called(ctx, st.Submission.User)
				if err != nil {
					return err
				}
				return t.row(user, score(st.Score, noScore), time.UnixMilli(st.Submission.At).UTC().Format(momentForm))
			})
		})
	}}
}

// Gradebook is school.KindGradebook: one row for each student of a class, one column for each of its assignments.
// Former members are left out.
func (s *Scores) Gradebook() Kind {
	return Kind{Name: school.KindGradebook, Handle: func(ctx context.Context, job *Job) (End, error) {
		args := school.GradebookArgs{Fill: school.DefaultFill}
		if err := job.Args(&args); err != nil {
			return End{}, err
		}
		columns, err := s.columns(ctx, args.Class)
		if err != nil {
			return End{}, err
		}
		return s.table(ctx, job, args.Class+"-gradebook.csv", func(t *table) error {
			if err := t.row(append([]string{"Username"}, columns...)...); err != nil {
				return err
			}
			t.rows--
			term, err := school.ReadTerm(ctx, s.Store, args.Class, "")
			if err != nil {
				return err
			}
			return eachMember(ctx, s.Store, args.Class, func(page []school.Enrolment) error {
				return s.grades(ctx, t, term, args, columns, page)
			})
		})
	}}
}

// columns returns the assignments of a class.
func (s *Scores) columns(ctx context.Context, class string) (columns []string, err error) {
	c, err := s.Store.GetClass(ctx, class)
	if err != nil {
		return nil, err
	}
	if c.Deleting {
		return nil, core.Errorf(core.CodeNotFound, class, "class %s is being deleted", class)
	}
	err = eachAssignment(ctx, s.Store, class, func(a *school.Assignment) error {
		if len(columns) == maxColumns {
			return core.Errorf(core.CodeLimit, class, "class %s has more than the %d assignments that a gradebook can hold: export them one by one", class, maxColumns)
		}
		if !a.Deleting {
			columns = append(columns, a.Handle)
		}
		return nil
	})
	return columns, err
}

// grades writes the rows of a page of members.
func (s *Scores) grades(ctx context.Context, t *table, term *school.Term, args school.GradebookArgs, columns []string, page []school.Enrolment) error {
	rows := map[string][]string{}
	for _, m := range page {
		if m.Role != core.RoleStudent {
			continue
		}
		user, err := s.called(ctx, m.User)
		if err != nil {
			return err
		}
		row := append(make([]string, 0, len(columns)+1), user)
		for range columns {
			row = append(row, args.Fill)
		}
		rows[m.User] = row
	}
	counted, err := term.Count(ctx, s.Store, slices.Collect(maps.Keys(rows)))
	if err != nil {
		return err
	}
	for user, row := range rows {
		for i, column := range columns {
			if c := counted[user][column]; c != nil {
				row[i+1] = score(c.Final, args.Fill)
			}
		}
	}
	for _, m := range page {
		if row := rows[m.User]; row != nil {
			if err := t.row(row...); err != nil {
				return err
			}
		}
	}
	return nil
}

// called returns a user's name in lists.
func (s *Scores) called(ctx context.Context, handle string) (string, error) {
	u, err := s.Store.GetUser(ctx, handle)
	switch {
	case core.Is(err, core.CodeNotFound) || err == nil && u.Email == "":
		return handle, nil
	case err != nil:
		return "", err
	}
	return u.Email, nil
}

// table is a CSV that is being made.
type table struct {
	*csv.Writer
	job  *Job
	rows int64
}

// table makes a CSV of the rows that fill writes.
func (s *Scores) table(ctx context.Context, job *Job, name string, fill func(t *table) error) (End, error) {
	t := table{job: job}
	d, err := s.put(ctx, name, csvType, maxCSVBytes, func(w io.Writer) error {
		t.Writer = csv.NewWriter(w)
		if err := fill(&t); err != nil {
			return err
		}
		t.Flush()
		return t.Error()
	})
	if err != nil {
		return End{}, err
	}
	return End{Note: fmt.Sprintf("%d rows", t.rows), Download: d}, nil
}

// row writes a row whose first cell names a user.
func (t *table) row(cells ...string) error {
	for i := range cells {
		cells[i] = portable.Cell(cells[i])
	}
	t.rows++
	t.job.Progress(t.rows, 0, "")
	return t.Write(cells)
}
