package overseer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/coretest"
	"drover/core/service/metric"
	"drover/overseer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is everything that an overseer touches, as small as can be; what chores
// do to real parts is tested in reap_test.go.
type fixture struct {
	metrics *metric.Set

	core.Owners
	core.Hosts
	core.Queue
	core.ResultStore
	core.LeasedPools

	mu    sync.Mutex
	calls []string
	fail  map[string]error
	hang  bool
	late  []string // hosts

	broken []core.Violation
}

func (w *fixture) call(ctx context.Context, name string) (int, error) {
	w.mu.Lock()
	w.calls = append(w.calls, name)
	err, hang := w.fail[name], w.hang
	w.mu.Unlock()
	if hang {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if err != nil {
		return 0, err
	}
	return 1, nil
}

func (w *fixture) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.calls {
		if c == name {
			n++
		}
	}
	return n
}

func (w *fixture) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *fixture) RestorePools(ctx context.Context) (int, error) { return w.call(ctx, "pools") }
func (w *fixture) Sweep(ctx context.Context) (int, error)        { return w.call(ctx, "sweep") }
func (w *fixture) SweepAll(ctx context.Context) (int, error)     { return w.call(ctx, "sweep all") }
func (w *fixture) SweepRemoved(ctx context.Context) (int, error) { return w.call(ctx, "sweep removed") }
func (w *fixture) Expire(ctx context.Context) (int, error)       { return w.call(ctx, "expire") }
func (w *fixture) ExpireAll(ctx context.Context) (int, error)    { return w.call(ctx, "expire all") }
func (w *fixture) FailBroken(ctx context.Context) (int, error)   { return w.call(ctx, "fail") }
func (w *fixture) FailAllBroken(ctx context.Context) (int, error) {
	return w.call(ctx, "fail all")
}

func (w *fixture) FailBegun(ctx context.Context, _ string) error {
	_, err := w.call(ctx, "fail begun")
	return err
}

func (w *fixture) HostWishes(ctx context.Context, _ string) ([]core.HostWish, error) {
	_, err := w.call(ctx, "wishes")
	return nil, err
}

func (w *fixture) SubmitTask(context.Context, core.Task) (core.Task, bool, error) {
	panic("nothing is due")
}

func (w *fixture) ListSchedules(ctx context.Context) ([]core.Schedule, error) {
	_, err := w.call(ctx, "schedules")
	return []core.Schedule{{Name: core.KindPurge, Cron: "@yearly", Since: time.Now().UnixMilli()}}, err
}

func (w *fixture) Trim(ctx context.Context, keep time.Duration) (int, error) {
	if keep != time.Hour {
		return 0, errors.New("not the default")
	}
	return w.call(ctx, "trim")
}

func (w *fixture) Judge(ctx context.Context, suspect, down time.Duration) ([]string, error) {
	if suspect != 2*time.Second || down != 4*time.Second {
		return nil, errors.New("not the default, counted from when a heartbeat was due")
	}
	_, err := w.call(ctx, "judge")
	return w.late, err
}

func (w *fixture) Down(ctx context.Context, _ string, _ time.Duration) error {
	_, err := w.call(ctx, "down")
	return err
}

func (w *fixture) Evacuations(context.Context) ([]core.Evacuation, error)       { return nil, nil }
func (w *fixture) Rooms(context.Context) ([]core.Room, int64, error)            { return nil, 0, nil }
func (w *fixture) Unassign(context.Context, string, time.Duration) (int, error) { return 0, nil }
func (w *fixture) Promote(ctx context.Context) (int, error)                     { return w.call(ctx, "promote") }
func (w *fixture) ListOwners(context.Context) ([]core.OwnerInfo, error)         { return nil, nil }

func (w *fixture) CheckConsistency(ctx context.Context) ([]core.Violation, error) {
	_, err := w.call(ctx, "consistency")
	return w.broken, err
}

func (w *fixture) Mend(ctx context.Context, v core.Violation) (bool, error) {
	_, err := w.call(ctx, "mend")
	return v.ID != "s3", err
}

func (w *fixture) Events(context.Context, string) ([]core.Event, error) { return nil, nil }

func (w *fixture) Calendar(context.Context, int64) (core.Calendar, error) {
	return core.Calendar{Revision: 1}, nil
}

func (w *fixture) Leased(ctx context.Context) ([]core.LeasedState, error) {
	_, err := w.call(ctx, "leases")
	return nil, err
}

func (w *fixture) Mark(context.Context, string) (string, error) { return "", nil }

func (w *fixture) MoveMark(context.Context, string, string, string) (bool, error) { return true, nil }
func (w *fixture) PutBuckets(context.Context, []core.Bucket) error                { return nil }
func (w *fixture) TrimBuckets(context.Context, int64, int64) (int, error)         { return 0, nil }

func (w *fixture) Waiting(context.Context) ([]core.QueueInfo, error) { return nil, nil }

func (w *fixture) ReadClock(context.Context) (core.RedisClock, error) {
	return core.RedisClock{Now: time.Now().UnixMilli()}, nil
}

func (w *fixture) TrimStateChanges(context.Context, int64, int, int) (int, error)    { return 0, nil }
func (w *fixture) Ended(context.Context, int64, int64, func(core.Ended) error) error { return nil }

func (w *fixture) Buckets(context.Context, int64, string, int64, int64) ([]core.Bucket, error) {
	return nil, nil
}

func (w *fixture) Terminal(context.Context, []string) (map[string]core.RequestState, error) {
	return nil, nil
}

func (w *fixture) AddStateChanges(context.Context, []core.StateChange) error { return nil }

func (w *fixture) AddHostReport(context.Context, core.HostReport) error { return nil }

func (w *fixture) HostReports(ctx context.Context, _ string, wait time.Duration) ([]core.HostReport, error) {
	if wait > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	_, err := w.call(ctx, "reports")
	return nil, err
}

func (w *fixture) HostReportDone(context.Context, ...string) error { return nil }

func (w *fixture) Ground(ctx context.Context) (core.Ground, error) {
	_, err := w.call(ctx, "ground")
	return core.Ground{}, err
}

func (w *fixture) SetTargets(context.Context, int64, core.Round) (int64, error) { return 1, nil }

func (w *fixture) WaitPlacement(ctx context.Context, poll time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(poll):
		return nil
	}
}

func (w *fixture) ListHosts(context.Context) ([]core.HostInfo, error)    { return nil, nil }
func (w *fixture) Late(context.Context, time.Duration) ([]string, error) { return nil, nil }
func (w *fixture) Pools(context.Context) ([]core.Pool, error)            { return nil, nil }

func newOverseer(t *testing.T, w *fixture, cfg overseer.Config) (*overseer.Overseer, *test.Hook) {
	logs, deps := newDeps(w)
	w.metrics = &metric.Set{}
	deps.Metrics = w.metrics
	o, err := overseer.New(cfg, deps)
	require.NoError(t, err)
	return o, logs
}

func newDeps(w *fixture) (*test.Hook, overseer.Deps) {
	log, logs := test.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	return logs, overseer.Deps{
		Owners: w, Hosts: w, Pools: outless{w}, Queue: w, Evacuations: w, Placements: w, Leased: w, Reports: w, History: w, Consistency: w, Store: w, Intake: w, Log: log,
	}
}

func TestOnceDoesEveryChoreWhollyAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where nothing takes time
		onceWholly(t)
	})
}

func onceWholly(t *testing.T) {
	w := &fixture{}
	o, _ := newOverseer(t, w, overseer.Config{})
	report, err := o.Once(context.Background())
	require.NoError(t, err)
	require.Equal(t, []string{"pools", "wishes", "judge", "reports", "leases", "ground", "promote", "sweep all", "sweep removed", "expire all", "fail all", "trim", "schedules", "consistency"}, w.calls)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	require.JSONEq(t, `{"chores":[
		{"chore":"pools","counts":{"restored":1},"took_ms":0},
		{"chore":"wishes","counts":{},"took_ms":0},
		{"chore":"watch heartbeat","counts":{},"took_ms":0},
		{"chore":"watch provider","counts":{},"took_ms":0},
		{"chore":"watch report","counts":{},"took_ms":0},
		{"chore":"reap","counts":{},"took_ms":0},
		{"chore":"leases","counts":{},"took_ms":0},
		{"chore":"place","counts":{},"took_ms":0},
		{"chore":"hung","counts":{},"took_ms":0},
		{"chore":"drained","counts":{},"took_ms":0},
		{"chore":"assigned","counts":{"promoted":1},"took_ms":0},
		{"chore":"damp","counts":{},"took_ms":0},
		{"chore":"sweep","counts":{"queued":1},"took_ms":0},
		{"chore":"remove","counts":{"deleted":1},"took_ms":0},
		{"chore":"expire","counts":{"timed_out":1},"took_ms":0},
		{"chore":"outages","counts":{},"took_ms":0},
		{"chore":"broken","counts":{"failed":1},"took_ms":0},
		{"chore":"trim","counts":{"forgotten":1},"took_ms":0},
		{"chore":"history","counts":{},"took_ms":0},
		{"chore":"statistics","counts":{},"took_ms":0},
		{"chore":"schedules","counts":{},"took_ms":0},
		{"chore":"consistency","counts":{},"took_ms":0}]}`, string(text))
	require.InDelta(t, 1, coretest.SumMetric(t, w.metrics, `drover_chore_done_total{chore="sweep"`), 0)
}

func TestOnceTellsOfEveryChoreThatFailed(t *testing.T) {
	t.Parallel()
	down := core.Errorf(core.CodeUnavailable, "", "Redis did not do it")
	w := &fixture{fail: map[string]error{"judge": down, "expire all": errors.New("boom")}}
	o, _ := newOverseer(t, w, overseer.Config{})
	report, err := o.Once(context.Background())
	require.ErrorIs(t, err, down)
	require.ErrorContains(t, err, "chore watch heartbeat")
	require.ErrorContains(t, err, "chore expire")
	require.Equal(t, 1, w.count("schedules"), "the others were done")
	require.Equal(t, down.Error(), report.Chores[2].Error)
	require.Empty(t, report.Chores[3].Error)
	require.InDelta(t, 1, coretest.SumMetric(t, w.metrics, `drover_chore_failures_total{chore="watch heartbeat"`), 0)
}

func TestAHostThatComesBackInTimeIsNoFailure(t *testing.T) {
	t.Parallel()
	for code, fine := range map[core.Code]bool{core.CodeConflict: true, core.CodeNotFound: true, core.CodeUnavailable: false} {
		w := &fixture{late: []string{"h1"}, fail: map[string]error{"down": core.Errorf(code, "h1", "no")}}
		o, _ := newOverseer(t, w, overseer.Config{})
		report, err := o.Once(context.Background())
		require.Equal(t, fine, err == nil, code)
		require.Empty(t, report.Chores[1].Counts)
	}
}

func TestTheDaemonKeepsTheRhythm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{}
		o, _ := newOverseer(t, w, overseer.Config{})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- o.Run(ctx) }()
		<-time.After(59600 * time.Millisecond)
		for name, n := range map[string]int{
			"judge": 239, "reports": 54, "promote": 60, "sweep": 12, "expire": 12, "pools": 6, "trim": 1, "submit": 0, "consistency": 1, "sweep all": 0,
		} {
			require.Equal(t, n, w.count(name), name)
		}
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestAFailingChoreIsReportedOnceAndHoldsNobodyBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{fail: map[string]error{"judge": errors.New("boom")}}
		o, logs := newOverseer(t, w, overseer.Config{})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- o.Run(ctx) }()
		<-time.After(29600 * time.Millisecond)
		require.Equal(t, 119, w.count("judge"))
		require.Equal(t, 6, w.count("sweep"))
		w.set(func() { w.fail = nil })
		<-time.After(5 * time.Second)
		warned, healed := 0, 0
		for _, e := range logs.AllEntries() {
			switch e.Message {
			case "a chore failed; trying again":
				warned++
			case "the chore works again":
				healed++
			}
		}
		require.Equal(t, 1, warned)
		require.Equal(t, 1, healed)
		cancel()
		require.NoError(t, <-ended)
	})
}

func TestAChoreThatHangsIsCutShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{hang: true}
		o, _ := newOverseer(t, w, overseer.Config{Timeout: 10 * time.Second})
		_, err := o.Once(context.Background())
		require.ErrorContains(t, err, "not done within 10s")
		require.Equal(t, 1, w.count("schedules"), "the last chore had its turn")
	})
}

// What a consistency check finds is logged, up to a bound, and counted by rule until it is gone.
func TestTheConsistencyCheckTellsWhatIsBroken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &fixture{}
		for i := range 30 {
			w.broken = append(w.broken, core.Violation{Rule: core.RuleTurns, ID: fmt.Sprint("s", i), Text: "it is in turn 2 times"})
		}
		o, logs := newOverseer(t, w, overseer.Config{})
		_, err := o.Once(t.Context())
		require.NoError(t, err)
		require.InDelta(t, 30, coretest.SumMetric(t, w.metrics, `drover_consistency_broken{rule="turns"`), 0)
		told := 0
		for _, e := range logs.AllEntries() {
			if e.Data["rule"] == core.RuleTurns {
				told++
				require.Contains(t, e.Message, "it is in turn 2 times")
			}
		}
		require.Equal(t, 20, told)
		require.InDelta(t, 29, coretest.SumMetric(t, w.metrics, `drover_chore_done_total{chore="consistency"`)-30, 0, "all but one could be mended")
		w.broken = nil
		_, err = o.Once(t.Context())
		require.NoError(t, err)
		require.Zero(t, coretest.SumMetric(t, w.metrics, `drover_consistency_broken{rule="turns"`))
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]overseer.Config{
		"suspect above down": {Suspect: time.Minute},
		"negative time":      {SweepEvery: -1},
		"negative attempts":  {MaxAttempts: -1},
		"beat over suspect":  {Beat: time.Minute},
		"unknown monitor":    {Monitors: []string{"oracle"}},
	} {
		_, err := overseer.New(cfg, overseer.Deps{})
		require.True(t, core.Is(err, core.CodeInvalid), name)
	}
}
