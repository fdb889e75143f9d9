package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// Leads of files that did not keep results and grades in them have these.
func TestOlderLeadsAreFilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	version := slices.Index(migrations, leadStates)
	_, err = db.ExecContext(t.Context(), strings.Join(migrations[:version], "")+`
		INSERT INTO requests (id, generation, submitter, pool, assignment, idempotency, state, finished, spec, submission, blame, outcome, score, max_score) VALUES
			('r', 1, 'ann', 'default', 'c/a', '', 'completed', 9, x'7b7d', 's', '', 'partial', 4, 10),
			('q', 1, 'bob', 'default', 'c/a', '', 'queued', 0, x'7b7d', 't', '', '', NULL, NULL);
		INSERT INTO submissions (id, class, assignment, user, idempotency, request, grade, doc) VALUES
			('s', 'c', 'a', 'ann', '', 'r', NULL, x'7b7d'),
			('t', 'c', 'a', 'bob', '', 'q', NULL, x'7b7d'),
			('u', 'c', 'a', 'cy', '', '', CAST('{"score": 7, "max_score": 8, "by": "tess"}' AS BLOB), x'7b7d');
		INSERT INTO leads (class, assignment, user, submission, kind, at) VALUES
			('c', 'a', 'ann', 's', 'public', 1), ('c', 'a', 'bob', 't', 'public', 2), ('c', 'a', 'cy', 'u', 'public', 3), ('c', 'a', 'dot', 'gone', 'public', 4);
		`+fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, version))
	require.NoError(t, err)
	require.NoError(t, db.Close())

	_, _, _, err = Migrate(t.Context(), path, agree)
	require.NoError(t, err)
	s, err := Open(t.Context(), path, Options{})
	require.NoError(t, err)
	leads, err := s.Leads(t.Context(), "c", []string{"ann", "bob", "cy"})
	require.NoError(t, err)
	four, seven, eight, ten := 4.0, 7.0, 8.0, 10.0
	require.Equal(t, []school.Lead{
		{Class: "c", Assignment: "a", User: "ann", Submission: "s", Kind: "public", At: 1, State: core.RequestCompleted, Outcome: core.ResultPartial, Score: &four, MaxScore: &ten},
		{Class: "c", Assignment: "a", User: "bob", Submission: "t", Kind: "public", At: 2, State: core.RequestQueued, Outcome: core.ResultWaiting},
		{
			Class: "c", Assignment: "a", User: "cy", Submission: "u", Kind: "public", At: 3, Outcome: core.ResultPartial, Score: &seven, MaxScore: &eight,
			Grade: &school.Grade{Score: 7, MaxScore: &eight, By: "tess"},
		},
	}, leads)
	require.NoError(t, s.Close())
}
