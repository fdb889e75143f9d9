package sqlitetest

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"drover/core"
	"drover/core/school"
	"drover/core/store/sqlite"
	"drover/core/store/storetest"
)

// Classes is how much Fill writes: in each class Students, each of whom submitted Each times to each of Assignments.
type Classes struct{ Classes, Students, Assignments, Each int }

// Submissions is how many those are.
func (c Classes) Submissions() int { return c.Classes * c.Students * c.Assignments * c.Each }

// Fill fills a store with graded submissions of classes c000, c001 and so on, whose users are in no other class. Half of
// them are older than what the store has, half are newer. It copies one submission by SQL, in one transaction that is not
// fsynced, so that a million takes a minute or two.
func Fill(t testing.TB, s *sqlite.Store, pool string, c Classes) {
	t.Helper()
	ctx := t.Context()
	sub := original(t, s, pool)
	db, err := sql.Open("sqlite", "file:"+opened.paths[s]+"?mode=rw&_pragma=synchronous(off)&_pragma=cache_size(-262144)&_pragma=temp_store(memory)")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	db.SetMaxOpenConns(1) // the table of names is its own
	_, err = db.ExecContext(ctx, names, sql.Named("class", c.Students*c.Assignments*c.Each), sql.Named("student", c.Assignments*c.Each),
		sql.Named("students", c.Students), sql.Named("assignments", c.Assignments), sql.Named("each", c.Each), sql.Named("all", c.Submissions()))
	require.NoError(t, err)
	_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE")
	require.NoError(t, err)
	for _, of := range []struct{ table, where, by string }{
		{"classes", "handle = 'aclass'", "class"},
		{"users", "handle = 'auser'", "user"},
		{"enrolments", "user = 'auser'", "class, user"},
		{"assignments", "class = 'aclass'", "class, assignment"},
		{"submissions", "class = 'aclass'", ""},
		{"requests", "submitter = 'auser'", ""},
		{"attempts", "id = '" + sub.Request + "'", ""},
		{"leads", "class = 'aclass'", "class, user, assignment"},
	} {
		query := copying(ctx, t, db, of.table, of.where, of.by, sub)
		_, err := db.ExecContext(ctx, query)
		require.NoError(t, err, query)
	}
	_, err = db.ExecContext(ctx, "COMMIT")
	require.NoError(t, err)
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	require.NoError(t, err)
}

// names are a row for each submission. Ids of every second one are less, and those of the others are greater, than any of
// today. The one of each student and assignment that is copied last is the one that counts.
const names = `CREATE TEMP TABLE names AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :all)
	SELECT printf('c%03d', i / :class) AS class, printf('hw%d', i / :each % :assignments + 1) AS assignment,
		printf('c%03d-s%03d', i / :class, i / :student % :students) AS user,
		iif(i % 2, '7z', '00') || printf('s%023d', i) AS submission, iif(i % 2, '7z', '00') || printf('r%023d', i) AS request
	FROM n`

// copying is the statement that copies a row of a table for all names, or for one of each group of them. Each column
// has those names in the place of the original's.
func copying(ctx context.Context, t testing.TB, db *sql.DB, table, where, by string, sub school.Submission) string {
	t.Helper()
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+table+" WHERE "+where)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	columns, err := rows.ColumnTypes()
	require.NoError(t, err)
	require.True(t, rows.Next(), table)
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	require.NoError(t, rows.Scan(into...))
	require.False(t, rows.Next(), table)
	require.NoError(t, rows.Err())
	var names, from []string
	for i, column := range columns {
		if column.Name() == "seq" {
			continue // each row has one of its own
		}
		value := fmt.Sprintf("%s", values[i])
		text := "o." + column.Name()
		for _, r := range []struct{ original, name string }{
			{sub.ID, "submission"}, {sub.Request, "request"}, {"aclass", "class"}, {"anassignment", "assignment"}, {"auser", "user"},
		} {
			if strings.Contains(value, r.original) {
				text = fmt.Sprintf("replace(%s, '%s', n.%s)", text, r.original, r.name)
			}
		}
		if column.DatabaseTypeName() == "BLOB" && text != "o."+column.Name() {
			text = "CAST(" + strings.Replace(text, "o."+column.Name(), "CAST(o."+column.Name()+" AS TEXT)", 1) + " AS BLOB)"
		}
		names, from = append(names, column.Name()), append(from, text)
	}
	of := "(SELECT *, max(rowid) FROM names GROUP BY " + by + ")"
	return fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM (SELECT * FROM %s WHERE %s) AS o CROSS JOIN %s AS n",
		table, strings.Join(names, ", "), strings.Join(from, ", "), table, where, cmp.Or(map[bool]string{by != "": of}[true], "names"))
}

// original makes the submission that is copied.
func original(t testing.TB, s *sqlite.Store, pool string) school.Submission {
	t.Helper()
	ctx := t.Context()
	_, err := s.PutUser(ctx, storetest.User("auser"))
	require.NoError(t, err)
	_, err = s.PutClass(ctx, storetest.Class("aclass"))
	require.NoError(t, err)
	_, err = s.PutAssignment(ctx, storetest.Assignment("aclass", "anassignment"))
	require.NoError(t, err)
	require.NoError(t, s.Enrol(ctx, school.Enrolment{Class: "aclass", User: "auser", Role: core.RoleStudent}))
	sub := storetest.Submission("aclass", "anassignment", "auser")
	spec := storetest.Grading(sub)
	spec.Files, spec.Pool, sub.Request = sub.Files, pool, spec.ID
	_, _, err = s.CreateSubmission(ctx, sub, &spec)
	require.NoError(t, err)
	result, score, highest := storetest.Result(spec, "1.1"), 7.0, 10.0
	result.Score, result.MaxScore, result.Stdout = &score, &highest, "ok\n"
	for i := range 10 {
		result.Tests = append(result.Tests, core.Test{Name: fmt.Sprintf("test %d", i), Score: 1, MaxScore: 1})
	}
	is, err := s.Record(ctx, result)
	require.NoError(t, err)
	require.True(t, is)
	return sub
}
