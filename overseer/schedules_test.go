package overseer_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/service/clock"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/overseer"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
)

// standing is a clock that stands still.
type standing struct{ at time.Time }

func (s *standing) Now() time.Time                         { return s.at }
func (s *standing) After(d time.Duration) <-chan time.Time { return time.After(d) }

// calendar is a real store, a clock, and the task chores of overseers on them.
type calendar struct {
	t     *testing.T
	store *sqlite.Store
	clock *standing
	logs  *logtest.Hook
	log   logrus.FieldLogger
}

// deaf is a Redis that is away: tasks stay in the store.
type deaf struct{ core.Tasks }

func (deaf) EnqueueTask(context.Context, core.Task) error { return errors.New("away") }

func newCalendar(t *testing.T, now string) *calendar {
	t.Helper()
	store := sqlitetest.Open(t)
	log, logs := logtest.NewNullLogger()
	c := &calendar{t: t, store: store, clock: &standing{}, log: log, logs: logs}
	c.set(now)
	return c
}

func (c *calendar) set(now string) {
	c.t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	require.NoError(c.t, err)
	c.clock.at = at
}

// half is a store that dies after a task was made.
type half struct {
	core.ResultStore
	dies bool
}

func (h *half) PutSchedule(ctx context.Context, s core.Schedule) (int64, error) {
	if h.dies {
		return 0, errors.New("dead")
	}
	return h.ResultStore.PutSchedule(ctx, s)
}

// timeless is a Redis of which nothing is asked but its clock.
type timeless struct{ core.Queue }

func (timeless) ReadClock(context.Context) (core.RedisClock, error) { return core.RedisClock{}, nil }

func (c *calendar) overseer(store core.ResultStore) *overseer.Overseer {
	c.t.Helper()
	in := &intake.Intake{Store: store, Tasks: deaf{}, Now: c.clock.Now}
	o, err := overseer.New(overseer.Config{}, overseer.Deps{Store: store, Intake: in, Queue: coretest.Clocked{Queue: timeless{}, Now: c.clock.Now}, Clock: c.clock, Log: c.log})
	require.NoError(c.t, err)
	return o
}

func (c *calendar) put(s core.Schedule) {
	c.t.Helper()
	s.Priority, s.Since = core.PriorityNormal, c.clock.at.UnixMilli()
	_, err := c.store.PutSchedule(c.t.Context(), s)
	require.NoError(c.t, err)
}

// made returns the kinds and moments of all tasks, newest first.
func (c *calendar) made() (out []string) {
	c.t.Helper()
	all, err := c.store.ListTasks(c.t.Context(), core.TaskFilter{Limit: 1000})
	require.NoError(c.t, err)
	for _, task := range all {
		out = append(out, task.Kind+" "+overseer.MomentOf(task.ID).Format("02 15:04"))
	}
	return out
}

// done ends all tasks.
func (c *calendar) done() {
	c.t.Helper()
	open, err := c.store.UnfinishedTasks(c.t.Context(), "", 1000)
	require.NoError(c.t, err)
	for _, task := range open {
		_, err := c.store.EndTask(c.t.Context(), core.TaskEnd{ID: task.ID, Generation: 1, State: core.TaskDone})
		require.NoError(c.t, err)
	}
}

func TestSchedulesMakeTasks(t *testing.T) {
	t.Parallel()
	c := newCalendar(t, "2026-06-01T12:00:30Z")
	ctx := t.Context()
	c.put(core.Schedule{Name: "often", Cron: "*/10 * * * *", Kind: "gradebook", Args: json.RawMessage(`{"class":"a"}`), Requester: "ann", About: "a"})
	c.put(core.Schedule{Name: "still", Cron: "* * * * *", Kind: "archive", Paused: true})
	c.put(core.Schedule{Name: "worse", Cron: "every day", Kind: "archive"})
	one, two := c.overseer(c.store), c.overseer(c.store)
	look := func() (n int) {
		t.Helper()
		for _, o := range []*overseer.Overseer{one, two, one} {
			counts, err := o.Schedules(ctx)
			require.NoError(t, err)
			n += counts["tasks"]
		}
		return n
	}
	require.Zero(t, look(), "nothing before its time began")
	c.set("2026-06-01T12:10:00Z")
	require.Equal(t, 1, look())
	require.Equal(t, []string{"gradebook 01 12:10"}, c.made())
	c.set("2026-06-01T12:20:00Z")
	require.Zero(t, look(), "the last one has not ended")
	c.done()
	require.Zero(t, look(), "its moment is over")
	c.set("2026-06-02T00:05:00Z")
	require.Equal(t, 1, look(), "what was missed is made up for once")
	c.set("2026-06-02T03:17:00Z")
	c.done()
	require.Equal(t, 2, look())
	require.Equal(t, []string{"purge 02 03:17", "gradebook 02 03:10", "gradebook 02 00:00", "gradebook 01 12:10"}, c.made())

	all, err := c.store.ListTasks(ctx, core.TaskFilter{})
	require.NoError(t, err)
	require.JSONEq(t, `{"keep_ns":2592000000000000}`, string(all[0].Args))
	require.Equal(t, core.PriorityLow, all[0].Priority)
	require.JSONEq(t, `{"class":"a"}`, string(all[1].Args))
	require.Equal(t, "ann", all[1].Requester)
	require.Equal(t, "a", all[1].About)
	told := 0
	for _, e := range c.logs.AllEntries() {
		if e.Level == logrus.ErrorLevel {
			require.Equal(t, "worse", e.Data["schedule"])
			told++
		}
	}
	require.Equal(t, 2, told, "once an overseer")

	require.NoError(t, c.store.DeleteSchedule(ctx, core.KindPurge))
	require.Zero(t, look())
	schedules, err := c.store.ListSchedules(ctx)
	require.NoError(t, err)
	require.Len(t, schedules, 3, "who removes it has rest until the next start")
}

// Under cron each run is an overseer's whole life: what somebody removed stays away.
func TestARemovedPurgeStaysAway(t *testing.T) {
	t.Parallel()
	c := newCalendar(t, "2026-06-01T12:00:00Z")
	ctx := t.Context()
	_, err := c.overseer(c.store).Schedules(ctx)
	require.NoError(t, err)
	require.NoError(t, c.store.DeleteSchedule(ctx, core.KindPurge))
	require.NoError(t, c.store.AddAuditEntry(ctx, core.AuditEntry{ID: "01entry", At: 1, Actor: "olga", Action: core.ActClassEdit, Subject: core.KindPurge, Text: "renames class purge"}))
	_, err = c.overseer(c.store).Schedules(ctx)
	require.NoError(t, err)
	require.Len(t, c.all(), 1, "nobody removed it")
	require.NoError(t, c.store.DeleteSchedule(ctx, core.KindPurge))
	require.NoError(t, c.store.AddAuditEntry(ctx, core.AuditEntry{ID: "02entry", At: 2, Actor: "olga", Action: core.ActSchedule, Subject: core.KindPurge, Text: "removes schedule purge"}))
	for range 2 {
		_, err = c.overseer(c.store).Schedules(ctx)
		require.NoError(t, err)
		require.Empty(t, c.all())
	}
}

func (c *calendar) all() []core.Schedule {
	c.t.Helper()
	all, err := c.store.ListSchedules(c.t.Context())
	require.NoError(c.t, err)
	return all
}

// An overseer died after making the task and before recording that: the next look makes no other.
func TestACrashBetweenATaskAndItsNote(t *testing.T) {
	t.Parallel()
	c := newCalendar(t, "2026-06-01T12:00:30Z")
	c.put(core.Schedule{Name: "often", Cron: "*/10 * * * *", Kind: "gradebook"})
	store := &half{ResultStore: c.store}
	o := c.overseer(store)
	_, err := o.Schedules(t.Context())
	require.NoError(t, err)
	c.set("2026-06-01T12:10:00Z")
	store.dies = true
	counts, err := o.Schedules(t.Context())
	require.Error(t, err)
	require.Equal(t, 1, counts["tasks"])
	store.dies = false
	for _, ended := range []bool{false, true} {
		if ended {
			c.done()
		}
		counts, err = c.overseer(store).Schedules(t.Context())
		require.NoError(t, err)
		require.Zero(t, counts["tasks"])
	}
	require.Len(t, c.made(), 1)
}

// By the clock of its zone a schedule is due at the same hour, winter and summer.
func TestASchedulesZone(t *testing.T) {
	t.Parallel()
	c := newCalendar(t, "2026-03-27T12:00:00Z")
	c.put(core.Schedule{Name: "often", Cron: "CRON_TZ=Europe/Berlin 30 6 * * *", Kind: "gradebook"})
	c.put(core.Schedule{Name: "night", Cron: "CRON_TZ=Europe/Berlin 30 2 * * *", Kind: "archive"})
	o := c.overseer(c.store)
	for range 4 * 24 {
		_, err := o.Schedules(t.Context())
		require.NoError(t, err)
		c.done()
		c.clock.at = c.clock.at.Add(time.Hour)
	}
	var got []string
	for _, task := range c.made() {
		if !strings.HasPrefix(task, "purge") {
			got = append(got, task)
		}
	}
	require.Equal(t, []string{
		"gradebook 31 04:30", "archive 31 00:30", "gradebook 30 04:30", "archive 30 00:30", "gradebook 29 04:30",
		"gradebook 28 05:30", "archive 28 01:30",
	}, got, "the 29th has no half past two")
}

// An overseer whose clock is a month ahead makes nothing early, nor keeps the others from
// making what is due.
func TestSchedulesGoByRedisClock(t *testing.T) {
	t.Parallel()
	c := newCalendar(t, "2026-06-01T12:00:30Z")
	c.put(core.Schedule{Name: "often", Cron: "*/10 * * * *", Kind: "gradebook"})
	const ahead = 30 * 24 * time.Hour
	wrong, err := overseer.New(overseer.Config{}, overseer.Deps{
		Store: c.store, Intake: &intake.Intake{Store: c.store, Tasks: deaf{}, Now: c.clock.Now}, Clock: fast{c.clock, ahead}, Log: c.log,
		Queue: coretest.Clocked{Queue: timeless{}, Now: c.clock.Now},
	})
	require.NoError(t, err)
	counts, err := wrong.Schedules(t.Context())
	require.NoError(t, err)
	require.Zero(t, counts["tasks"])
	require.Empty(t, c.made())
	c.clock.at = c.clock.at.Add(10 * time.Minute)
	counts, err = c.overseer(c.store).Schedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, counts["tasks"])
	require.Equal(t, []string{"gradebook 01 12:10"}, c.made())
}

// A moment that was recorded while Redis' clock was a month ahead keeps nobody from making what is due.
func TestASchedulesMomentInTheFutureIsNone(t *testing.T) {
	t.Parallel()
	c := newCalendar(t, "2026-07-01T12:00:30Z")
	c.put(core.Schedule{Name: "often", Cron: "*/10 * * * *", Kind: "gradebook"})
	counts, err := c.overseer(c.store).Schedules(t.Context())
	require.NoError(t, err)
	require.Zero(t, counts["tasks"])
	c.clock.at = c.clock.at.Add(time.Hour)
	counts, err = c.overseer(c.store).Schedules(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, counts["tasks"])
	c.done()
	c.clock.at = c.clock.at.AddDate(0, -1, 0)
	for range 2 {
		_, err = c.overseer(c.store).Schedules(t.Context())
		require.NoError(t, err)
		c.clock.at = c.clock.at.Add(10 * time.Minute)
	}
	require.Equal(t, []string{"gradebook 01 13:00", "gradebook 01 13:10"}, c.made())
}

// fast is a clock that is ahead of another.
type fast struct {
	clock.Clock
	by time.Duration
}

func (f fast) Now() time.Time { return f.Clock.Now().Add(f.by) }
