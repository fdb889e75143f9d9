package school_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
)

const aDay = int64(24 * 3600_000)

func score(x float64) *float64 { return &x }

func TestLateness(t *testing.T) {
	t.Parallel()
	a := school.Assignment{Due: 1000 * aDay}
	a.Grace = 30
	for late, want := range map[int64]int{-5: 0, 0: 0, 30 * 60_000: 0, 30*60_000 + 1: 1, aDay: 1, aDay + 1: 2, 10 * aDay: 10} {
		require.Equal(t, want, a.DaysLate(a.Due+late), late)
	}
	require.Zero(t, (&school.Assignment{}).DaysLate(5), "without a due date nothing is late")
	r := school.Rules{Penalty: 10, Floor: 40}
	for days, want := range map[int]float64{0: 10, 1: 9, 5: 5, 6: 4, 99: 4} {
		require.InDelta(t, want, r.After(10, days), 1e-9, days)
	}
	require.InDelta(t, -3, r.After(-3, 5), 0, "less than nothing is not made better")
}

func TestWhichSubmissionLeads(t *testing.T) {
	t.Parallel()
	a := school.Assignment{Due: 1000 * aDay}
	a.Penalty = 20
	all := []school.Candidate{
		{ID: "1", Kind: "public", At: a.Due, Score: score(8)},
		{ID: "2", Kind: "final", At: a.Due, Score: score(6)},
		{ID: "3", Kind: "public", At: a.Due + 1, Score: score(9)}, // 7.2 after the penalty
		{ID: "4", Kind: "public", At: a.Due, Score: score(8)},
		{ID: "5", Kind: "public", At: a.Due},
	}
	for policy, want := range map[school.Policy]string{"": "5", school.CountsNewest: "5", school.CountsBest: "1", school.CountsFinal: "2"} {
		a.Counts = policy
		require.Equal(t, want, all[a.Leading(all)].ID, policy)
	}
	all[2].Graded = true
	for _, policy := range school.Policies() {
		a.Counts = policy
		require.Equal(t, "3", all[a.Leading(all)].ID, "a person graded it")
	}
	require.Equal(t, -1, a.Leading(nil))
}

// Late days cover lateness in order of due date, where it costs something and nobody graded.
func TestLateDays(t *testing.T) {
	t.Parallel()
	as := map[string]*school.Assignment{}
	var leads []school.Lead
	for i, handle := range []string{"d", "c", "b", "a"} {
		as[handle] = &school.Assignment{Handle: handle, Due: int64(1000+i) * aDay}
		as[handle].Penalty = 10
		leads = append(leads, school.Lead{Assignment: handle, At: as[handle].Due + aDay + 1, Score: score(10)})
	}
	leads[0].Grade = &school.Grade{Score: 10}
	leads[2].Outcome, leads[2].MaxScore, leads[3].Outcome, leads[3].MaxScore = core.ResultFull, score(10), core.ResultFull, score(10)
	as["c"].Penalty = 0
	leads = append(leads, school.Lead{Assignment: "gone", Score: score(1)})
	got := school.CountAll(3, as, leads)
	for i, want := range []struct {
		late, spent int
		left        float64
	}{{2, 0, 10}, {2, 0, 10}, {2, 2, 10}, {2, 1, 9}} {
		require.Equal(t, want.late, got[i].DaysLate, i)
		require.Equal(t, want.spent, got[i].Spent, i)
		require.InDelta(t, want.left, *got[i].Final, 1e-9, i)
	}
	require.InDelta(t, 1, got[3].Cost(), 1e-9)
	require.Equal(t, []core.ResultOutcome{core.ResultFull, core.ResultPartial}, []core.ResultOutcome{got[2].Stands(), got[3].Stands()}, "9 of 10 points are left")
	require.Nil(t, got[4].Final)
}

func TestRulesAreChecked(t *testing.T) {
	t.Parallel()
	good := school.Rules{Counts: school.CountsBest, Grace: 5, Penalty: 10, Floor: 50, Required: []string{"src/a.c"}}
	require.NoError(t, good.Check("hw1"))
	require.Equal(t, []string{"src/a.c"}, good.Missing([]core.File{{Path: "a.c"}}))
	require.Empty(t, good.Missing([]core.File{{Path: "src/a.c"}}))
	for name, change := range map[string]func(r *school.Rules){
		"policy": func(r *school.Rules) { r.Counts = "worst" }, "grace": func(r *school.Rules) { r.Grace = -1 },
		"penalty": func(r *school.Rules) { r.Penalty = 101 }, "floor": func(r *school.Rules) { r.Floor = -1 },
		"path": func(r *school.Rules) { r.Required = []string{"../a"} }, "twice": func(r *school.Rules) { r.Required = []string{"a", "a"} },
	} {
		bad := good
		change(&bad)
		require.True(t, core.Is(bad.Check("hw1"), core.CodeInvalid), name)
	}
}
