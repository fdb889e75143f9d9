package redisstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"drover/core"
)

// Bounds on rates: within them the scripts' arithmetic is exact.
const (
	maxRates     = 100
	maxRateEvery = 31 * 24 * time.Hour
	maxRateCount = 1000
)

// SetTaskRates implements core.Tasks.
func (s *Store) SetTaskRates(ctx context.Context, rates map[string]core.TaskRate) error {
	if len(rates) > maxRates {
		return core.Errorf(core.CodeLimit, "", "there are rates for %d kinds of task, at most %d are allowed", len(rates), maxRates)
	}
	args := []any{len(rates)}
	for _, kind := range slices.Sorted(maps.Keys(rates)) {
		r := rates[kind]
		if err := checkRate(kind, r); err != nil {
			return err
		}
		args = append(args, kind, r.Every.Microseconds(), cmp.Or(r.Burst, 1), r.Most)
	}
	_, err := s.run(ctx, "task_rates", "", args...)
	return err
}

func checkRate(kind string, r core.TaskRate) error {
	if err := checkKind(kind); err != nil {
		return err
	}
	switch {
	case r.Every < 0 || r.Every > maxRateEvery || r.Every > 0 && r.Every < time.Microsecond:
		return core.Errorf(core.CodeInvalid, kind, "tasks of kind %s may begin once per %s: use 1µs to %s, or 0 for no rate", kind, r.Every, maxRateEvery)
	case r.Burst < 0 || r.Burst > maxRateCount || r.Most < 0 || r.Most > maxRateCount:
		return core.Errorf(core.CodeInvalid, kind, "the rate of kind %s has a burst of %d and at most %d in hand: use 0 to %d", kind, r.Burst, r.Most, maxRateCount)
	}
	return nil
}

// TaskQueues implements core.Tasks.
func (s *Store) TaskQueues(ctx context.Context) ([]core.TaskQueueInfo, error) {
	reply, err := s.run(ctx, "task_waiting", "")
	if err != nil {
		return nil, err
	}
	f := list(reply)
	var out []core.TaskQueueInfo
	for i := 0; i+7 < len(f); i += 8 {
		q := core.TaskQueueInfo{
			Priority: core.Priority(str(f[i])), Kind: str(f[i+1]), Waiting: int(num(f[i+2])), Lanes: int(num(f[i+3])),
			Rate: core.TaskRate{Every: time.Duration(num(f[i+4])) * time.Microsecond, Most: int(num(f[i+6]))}, Next: num(f[i+7]),
		}
		if q.Rate.Every > 0 {
			q.Rate.Burst = int(num(f[i+5]))
		}
		out = append(out, q)
	}
	return out, nil
}
