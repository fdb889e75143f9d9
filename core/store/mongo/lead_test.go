package mongo

import (
	"context"
	"testing"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/school"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// dying is the context of a caller that dies after so many calls of the server.
type dying struct {
	context.Context //nolint:containedctx // it is one

	left int
}

// Err is asked once before each call.
func (d *dying) Err() error {
	if d.left--; d.left < 0 {
		return context.Canceled
	}
	return nil
}

// Whatever a write of what decides which submission counts has done when its caller dies, the next reader finds the
// submission that counts.
func TestLeadsAfterACrash(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	s := openHere(t, mongotest.Database(t), Options{})
	c := newContest(t, s)
	own := school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann"}
	later := own
	later.Due = c.as.Due + 7_200_000
	strict, lenient := c.as.Penalty, 0.0
	rules := func(ctx context.Context, penalty float64) (err error) {
		if c.as, err = s.GetAssignment(t.Context(), "cs101", "hw1"); err == nil {
			c.as.Penalty = penalty
			_, err = s.PutAssignment(ctx, c.as)
		}
		return err
	}
	for _, write := range []struct {
		name     string
		do, undo func(ctx context.Context) error
	}{
		{"set a deadline", func(ctx context.Context) error { return s.PutDeadline(ctx, later) }, func(ctx context.Context) error { return s.PutDeadline(ctx, own) }},
		{"change the rules", func(ctx context.Context) error { return rules(ctx, lenient) }, func(ctx context.Context) error { return rules(ctx, strict) }},
		{
			"grade", func(ctx context.Context) error { return s.SetGrade(ctx, c.late, &school.Grade{Score: 1, By: "tess"}) },
			func(ctx context.Context) error { return s.SetGrade(ctx, c.late, nil) },
		},
	} {
		do, undo := write.do, write.undo
		for _, name := range []string{write.name, "undo: " + write.name} {
			seen := false
			before := c.leading(t, s)
			for calls := 0; ; calls++ {
				err := do(&dying{Context: ctx, left: calls})
				ruled := c.leading(t, s)
				require.Equal(t, ruled, c.lead(t, s), "%s, dead after %d calls", name, calls)
				if err == nil {
					require.NotEqual(t, before, ruled, name)
					break
				}
				require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
				if ruled != before {
					seen = true
					require.NoError(t, undo(ctx))
				}
			}
			require.True(t, seen, "%s: no caller died between the write and the end", name)
			do, undo = undo, do
		}
		for _, in := range []string{submissions, assignments, deadlines} {
			n, err := s.count(ctx, in, m{weighed: m{"$gt": ""}}, 10)
			require.NoError(t, err)
			require.Zero(t, n, "marks of %s after: %s", in, write.name)
		}
		n, err := s.count(ctx, deadlines, m{}, 10)
		require.NoError(t, err)
		require.Zero(t, n, "deadlines after: %s", write.name)
	}
}

// contest is an assignment whose best submission counts: of two, the first by the penalty of the late one.
type contest struct {
	as   school.Assignment
	late string
}

func newContest(t *testing.T, s *Store) contest {
	t.Helper()
	ctx := t.Context()
	_, err := s.PutUser(ctx, storetest.User("ann"))
	require.NoError(t, err)
	_, err = s.PutClass(ctx, storetest.Class("cs101"))
	require.NoError(t, err)
	c := contest{as: storetest.Assignment("cs101", "hw1")}
	c.as.Counts, c.as.Penalty, c.as.Due = school.CountsBest, 40, c.as.Created
	_, err = s.PutAssignment(ctx, c.as)
	require.NoError(t, err)
	for i, score := range []float64{5, 8} {
		sub := storetest.Submission("cs101", "hw1", "ann")
		spec, most := storetest.Grading(sub), 10.0
		sub.At, sub.Request, c.late = c.as.Due+int64(i)*3_600_000, spec.ID, sub.ID
		_, _, err := s.CreateSubmission(ctx, sub, &spec)
		require.NoError(t, err)
		result := storetest.Result(spec, "1.1")
		result.Score, result.MaxScore = &score, &most
		_, err = s.Record(ctx, result)
		require.NoError(t, err)
	}
	return c
}

// leading returns the submission that counts by the rule, of all that are there.
func (c *contest) leading(t *testing.T, s *Store) string {
	t.Helper()
	as, err := s.GetAssignment(t.Context(), "cs101", "hw1")
	require.NoError(t, err)
	own, err := s.Deadlines(t.Context(), "cs101", "hw1", "ann")
	require.NoError(t, err)
	if len(own) > 0 {
		as = as.For(&own[0])
	}
	all, err := s.ListSubmissions(t.Context(), school.SubmissionFilter{Class: "cs101"})
	require.NoError(t, err)
	var competing []school.Candidate
	for i := range all {
		competing = append(competing, all[i].Candidate())
	}
	return competing[as.Leading(competing)].ID
}

// lead returns the submission that counts by the store.
func (*contest) lead(t *testing.T, s *Store) string {
	t.Helper()
	leads, err := s.Leads(t.Context(), "cs101", []string{"ann"})
	require.NoError(t, err)
	require.Len(t, leads, 1)
	return leads[0].Submission
}
