package classes_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func TestAStudentHandsInOnlySoMuch(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.assignment("hw2")
	w.reg.Quota = classes.Quota{Limits: w.cluster.Store, Rate: core.Rate{Every: time.Hour, Burst: 2}}
	submit := func(who, assignment string) error {
		return done(w.reg.Submit(t.Context(), w.as(who), newSubmission(assignment)))
	}
	require.NoError(t, submit("ann", "hw1"))
	require.NoError(t, submit("ann", "hw2"))
	for _, again := range []string{"hw1", "hw2"} {
		err := submit("ann", again)
		requireCode(t, core.CodeFull, err)
		require.Regexp(t, `try again in (1h|\d+m)`, err.Error(), "less what has passed since the first")
	}
	require.NoError(t, submit("cleo", "hw1"), "each has their own")
	for range 3 {
		h := newSubmission("hw1")
		h.User = "ann"
		require.NoError(t, done(w.reg.Submit(t.Context(), w.as("tess"), h)), "who teaches is not bounded, nor counted for others")
	}
}

func TestTestingAgainCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	s := w.submit("ann", "hw1")
	require.NoError(t, done(w.reg.CancelSubmission(t.Context(), w.as("ann"), s.ID)))
	w.reg.Quota = classes.Quota{Limits: w.cluster.Store, Rate: core.Rate{Every: time.Hour, Burst: 1}}
	require.NoError(t, w.reg.Resubmit(t.Context(), w.as("ann"), s.ID))
	require.NoError(t, done(w.reg.CancelSubmission(t.Context(), w.as("ann"), s.ID)))
	requireCode(t, core.CodeFull, w.reg.Resubmit(t.Context(), w.as("ann"), s.ID))
	require.NoError(t, w.reg.Resubmit(t.Context(), w.as("tess"), s.ID))
}

func TestAStudentHandsInOnlySoManyBytes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.reg.Quota = classes.Quota{Limits: w.cluster.Store, Bytes: 4 << 20}
	submit := func(size int) error {
		h := newSubmission("hw1")
		h.Files = files("a", strings.Repeat("x", size))
		return done(w.reg.Submit(t.Context(), w.as("ann"), h))
	}
	require.NoError(t, submit(1<<20))
	require.NoError(t, submit(1<<20+1), "that is two")
	err := submit(3 << 20)
	requireCode(t, core.CodeFull, err)
	require.ErrorContains(t, err, "smaller")
	require.NoError(t, submit(10))
	requireCode(t, core.CodeFull, submit(10))
}

func TestAnyBoundOnBytesCanBeCounted(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.reg.Quota = classes.Quota{Limits: w.cluster.Store, Bytes: 2 << 30}
	require.NoError(t, done(w.reg.Submit(t.Context(), w.as("ann"), newSubmission("hw1"))))
	w.reg.Quota.Bytes = 64 << 30
	require.NoError(t, done(w.reg.Submit(t.Context(), w.as("cleo"), newSubmission("hw1"))))
}

// Where nobody can count, what is submitted is kept.
func TestSubmittingWhileNobodyCounts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.reg.Quota = classes.Quota{Limits: away{}, Rate: core.Rate{Every: time.Hour, Burst: 1}, Bytes: 1}
	for range 3 {
		require.NoError(t, done(w.reg.Submit(t.Context(), w.as("ann"), newSubmission("hw1"))))
	}
}

type away struct{}

func (away) Take(context.Context, string, core.Rate, int) (core.Allowance, error) {
	return core.Allowance{}, core.Errorf(core.CodeUnavailable, "", "no Redis")
}

// A repeat of what was submitted is not refused for what has changed since.
func TestRepeatIsLookedUpFirst(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *fixture, as school.Assignment){
		"the rate is used up": func(w *fixture, _ school.Assignment) {
			w.reg.Quota = classes.Quota{Limits: w.cluster.Store, Rate: core.Rate{Every: time.Hour, Burst: 1}}
			require.NoError(t, done(w.reg.Submit(t.Context(), w.as("ann"), newSubmission("hw1"))))
		},
		"the time is over": func(w *fixture, _ school.Assignment) { w.pass(1000 * hour) },
		"no files are read": func(w *fixture, as school.Assignment) {
			as.MaxBytes = 1
			require.NoError(t, done(w.reg.Store.PutAssignment(t.Context(), as)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			as := w.graded("hw1")
			h := newSubmission("hw1")
			h.Idempotency = "k1"
			s, err := w.reg.Submit(t.Context(), w.as("ann"), h)
			require.NoError(t, err)
			change(w, as)
			again, err := w.reg.Submit(t.Context(), w.as("ann"), h)
			require.NoError(t, err)
			require.Equal(t, s.ID, again.ID)
			h.User = "cleo"
			requireCode(t, core.CodeForbidden, done(w.reg.Submit(t.Context(), w.as("ann"), h)))
		})
	}
}
