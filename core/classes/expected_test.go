package classes_test

import (
	"testing"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// What is due within the hour is expected of each student who has submitted nothing.
func TestExpected(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	expected := func(at int64) map[string]float64 {
		rates, err := classes.Expected(ctx, w.reg.Store, time.UnixMilli(at))
		require.NoError(t, err)
		return rates
	}
	require.Empty(t, expected(theDue-hour/2), "there are no assignments")
	for handle, change := range map[string]func(*school.Assignment){
		"hw1":      func(*school.Assignment) {},
		"ungraded": func(a *school.Assignment) { a.Harness = nil },
		"never":    func(a *school.Assignment) { a.Due = 0 },
		"gone":     func(a *school.Assignment) { a.Deleting = true },
	} {
		a := school.Assignment{Class: "cs101", Handle: handle, Title: "x", Due: theDue, Pool: pool, Priority: core.PriorityNormal, Harness: &school.Harness{}, Created: start}
		change(&a)
		_, err := w.store.PutAssignment(ctx, a)
		require.NoError(t, err)
	}
	require.Empty(t, expected(theDue-hour-1), "it is not soon")
	require.Empty(t, expected(theDue), "it is over")
	require.Equal(t, map[string]float64{pool: 2.0 / 1800}, expected(theDue-hour/2), "ann and cleo")
	require.Equal(t, map[string]float64{pool: 2.0 / 60}, expected(theDue-1))

	_, _, err := w.store.CreateSubmission(ctx, school.Submission{ID: "s1", Class: "cs101", Assignment: "hw1", User: "ann", At: start}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]float64{pool: 1.0 / 1800}, expected(theDue-hour/2))
}
