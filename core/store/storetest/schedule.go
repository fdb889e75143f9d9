package storetest

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// Schedule makes a schedule.
func Schedule(name string) core.Schedule {
	return core.Schedule{Name: name, Cron: "17 3 * * *", Kind: core.KindPurge, Since: 5}
}

func schedules(t *testing.T, s school.ResultStore) {
	are := func(want ...core.Schedule) {
		t.Helper()
		all, err := s.ListSchedules(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, all)
	}
	are()
	put := func(x core.Schedule) core.Schedule {
		t.Helper()
		revision, err := s.PutSchedule(t.Context(), x)
		require.NoError(t, err)
		require.Greater(t, revision, x.Revision)
		x.Revision = revision
		return x
	}
	b, a := put(Schedule("b")), core.Schedule{
		Name: "a", Cron: "CRON_TZ=Europe/Berlin @daily", Kind: school.KindGradebook, Args: json.RawMessage(`{"class":"cs101"}`),
		Priority: core.PriorityLow, Requester: "ann", About: "cs101", Paused: true, Since: 7, Last: 9,
	}
	a = put(a)
	are(a, b)
	old := b
	b.Last, b.Paused = 1_700_000_000_000, true
	b = put(b)
	are(a, b)
	_, err := s.PutSchedule(t.Context(), old)
	requireCode(t, core.CodeConflict, err)
	_, err = s.PutSchedule(t.Context(), Schedule("a"))
	requireCode(t, core.CodeConflict, err)
	are(a, b)

	require.NoError(t, s.DeleteSchedule(t.Context(), "a"))
	requireCode(t, core.CodeNotFound, s.DeleteSchedule(t.Context(), "a"))
	_, err = s.PutSchedule(t.Context(), a)
	requireCode(t, core.CodeNotFound, err)
	are(b)
}

func schedulesRefuse(t *testing.T, s school.ResultStore) {
	for name, c := range map[string]struct {
		change func(*core.Schedule)
		want   core.Code
	}{
		"name": {func(x *core.Schedule) { x.Name = "every day" }, core.CodeInvalid},
	} {
		x := Schedule("a")
		c.change(&x)
		_, err := s.PutSchedule(t.Context(), x)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	together(t, core.MaxSchedules-1, func(i int) error {
		_, err := s.PutSchedule(t.Context(), Schedule(fmt.Sprintf("s%d", i)))
		return err
	})
	revision, err := s.PutSchedule(t.Context(), Schedule("last"))
	require.NoError(t, err)
	_, err = s.PutSchedule(t.Context(), Schedule("one-too-many"))
	requireCode(t, core.CodeLimit, err)
	there := Schedule("last")
	there.Revision, there.Last = revision, 7
	_, err = s.PutSchedule(t.Context(), there)
	require.NoError(t, err, "one that is there can still be changed")
	all, err := s.ListSchedules(t.Context())
	require.NoError(t, err)
	require.Len(t, all, core.MaxSchedules)
}

// schedulesRace shows that one moment is taken by one of those that see it come.
func schedulesRace(t *testing.T, s school.ResultStore) {
	revision, err := s.PutSchedule(t.Context(), Schedule("a"))
	require.NoError(t, err)
	for moment := range int64(10) {
		var won atomic.Int64
		race(t, func(int) error {
			x := Schedule("a")
			x.Revision, x.Last = revision, 100+moment
			_, err := s.PutSchedule(t.Context(), x)
			if core.Is(err, core.CodeConflict) {
				return nil
			}
			won.Add(1)
			return err
		})
		require.EqualValues(t, 1, won.Load())
		all, err := s.ListSchedules(t.Context())
		require.NoError(t, err)
		require.Equal(t, 100+moment, all[0].Last)
		revision = all[0].Revision
	}
}
