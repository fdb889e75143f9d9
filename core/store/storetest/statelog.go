package storetest

import (
	"fmt"
	"strings"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// StateChange makes the n-th change of a request at a time.
func StateChange(thing string, at, n int64) core.StateChange {
	return core.StateChange{
		Kind: core.EntityRequest, Thing: thing, At: at, N: n, State: "queued", How: "retry", By: "testrunner@h1", With: "vm-1", Why: "its VM died, ü",
	}
}

func stateChanges(t *testing.T, s school.ResultStore) {
	a, b, c := StateChange("r-1", 5, 0), StateChange("r-1", 5, 12), StateChange("r-1", 40, 3)
	vm := core.StateChange{Kind: core.EntityVM, Thing: "r-1", At: 5, State: "clean", How: "ready"}
	gap := core.StateChange{Kind: core.EntityGap, Thing: core.GapThing, At: 7, Until: 9, How: "gap"}
	longer := StateChange("r-10", 6, 0)
	require.NoError(t, s.AddStateChanges(t.Context(), nil))
	require.NoError(t, s.AddStateChanges(t.Context(), []core.StateChange{b, longer, a, a}))
	again := b
	again.State = "dead"
	require.NoError(t, s.AddStateChanges(t.Context(), []core.StateChange{vm, again, c, gap}))
	for _, test := range []struct {
		filter core.StateChangeFilter
		want   []core.StateChange
	}{
		{core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r-1"}, []core.StateChange{c, b, a}},
		{core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r-1", Limit: 2}, []core.StateChange{c, b}},
		{core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r-1", Before: c.Place()}, []core.StateChange{b, a}},
		{core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r-1", Before: b.Place()}, []core.StateChange{a}},
		{core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r-1", Before: a.Place()}, nil},
		{core.StateChangeFilter{Kind: core.EntityVM, Thing: "r-1"}, []core.StateChange{vm}},
		{core.StateChangeFilter{Kind: core.EntityGap, Thing: core.GapThing}, []core.StateChange{gap}},
		{core.StateChangeFilter{Kind: core.EntityHost, Thing: "r-1"}, nil},
	} {
		got, err := s.StateChanges(t.Context(), test.filter)
		require.NoError(t, err)
		require.Equal(t, test.want, got, "%+v", test.filter)
	}
}

func stateChangesRefuse(t *testing.T, s school.ResultStore) {
	for name, c := range map[string]struct {
		change func(*core.StateChange)
		want   core.Code
	}{
		"kind":  {func(c *core.StateChange) { c.Kind = "" }, core.CodeInvalid},
		"thing": {func(c *core.StateChange) { c.Thing = "" }, core.CodeInvalid},
		"huge":  {func(c *core.StateChange) { c.By = strings.Repeat("x", 10<<10) }, core.CodeLimit},
		"lines": {func(c *core.StateChange) { c.Why = "a\nb" }, core.CodeInvalid},
		"at":    {func(c *core.StateChange) { c.At = -1 }, core.CodeInvalid},
	} {
		bad := StateChange("r-1", 5, 0)
		c.change(&bad)
		require.Equal(t, c.want, core.CodeOf(s.AddStateChanges(t.Context(), []core.StateChange{StateChange("r-2", 5, 0), bad})), name)
	}
	requireCode(t, core.CodeLimit, s.AddStateChanges(t.Context(), make([]core.StateChange, core.MaxStateChanges+1)))
	for _, f := range []core.StateChangeFilter{
		{},
		{Kind: core.EntityVM},
		{Thing: "r-1"},
		{Kind: core.EntityVM, Thing: "r-1", Limit: -1},
		{Kind: core.EntityVM, Thing: "r-1", Limit: 1001},
		{Kind: core.EntityVM, Thing: "r-1", Before: "x"},
		{Kind: core.EntityVM, Thing: "r-1", Before: "5"},
		{Kind: core.EntityVM, Thing: "r-1", Before: "5--1"},
	} {
		_, err := s.StateChanges(t.Context(), f)
		requireCode(t, core.CodeInvalid, err)
	}
	all, err := s.StateChanges(t.Context(), core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r-2"})
	require.NoError(t, err)
	require.Empty(t, all, "nothing of what was refused is there")
}

func stateChangesTrim(t *testing.T, s school.ResultStore) {
	var all []core.StateChange
	for i := range int64(100) {
		all = append(all, StateChange(fmt.Sprintf("r%d-1", i%2), 1000+i, 0))
	}
	require.NoError(t, s.AddStateChanges(t.Context(), all))
	trimmed := func(before int64, most, limit, want int) {
		t.Helper()
		n, err := s.TrimStateChanges(t.Context(), before, most, limit)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	left := func(want int) {
		t.Helper()
		got, err := s.StateChanges(t.Context(), core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r1-1", Limit: 1000})
		require.NoError(t, err)
		require.Len(t, got, want)
		if want > 0 {
			require.EqualValues(t, 1099, got[0].At, "the newest stays")
		}
	}
	trimmed(1000, 100, 50, 0)
	trimmed(1010, 100, 6, 6)
	trimmed(1010, 100, 50, 4)
	left(45)
	trimmed(1010, 80, 50, 10)
	left(40)
	trimmed(1030, 75, 50, 10)
	left(35)
	trimmed(2000, 80, 1000, 70)
	left(0)
	trimmed(2000, 80, 1000, 0)
}

func marks(t *testing.T, s school.ResultStore) {
	is := func(want string) {
		t.Helper()
		got, err := s.Mark(t.Context(), "history")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	moved := func(from, to string, want bool) {
		t.Helper()
		got, err := s.MoveMark(t.Context(), "history", from, to)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	is("")
	moved("5-0", "6-0", false)
	is("")
	moved("", "5-0", true)
	moved("", "6-0", false)
	is("5-0")
	moved("5-0", "6-0", true)
	moved("5-0", "7-0", false)
	is("6-0")
	moved("6-0", "1-0", true)
	is("1-0")
	_, err := s.MoveMark(t.Context(), "history", "1-0", strings.Repeat("x", 10<<10))
	requireCode(t, core.CodeLimit, err)
	_, err = s.MoveMark(t.Context(), "a b", "", "x")
	requireCode(t, core.CodeInvalid, err)
	other, err := s.Mark(t.Context(), "other")
	require.NoError(t, err)
	require.Empty(t, other)
}

// raceMarks shows that of many who move a mark from the same place one does.
func raceMarks(t *testing.T, s school.ResultStore) {
	won := make(chan struct{}, 1000)
	race(t, func(i int) error {
		is, err := s.MoveMark(t.Context(), "history", "", fmt.Sprint(i))
		if is {
			won <- struct{}{}
		}
		return err
	})
	require.Len(t, won, 1)
}
