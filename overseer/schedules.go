package overseer

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"drover/core"
	"drover/core/cluster/schedule"
)

const (
	schedulesEvery = 5 * time.Second // between two looks at all schedules
	purgeCron      = "17 3 * * *"    // of the built-in purge
	lastAhead      = time.Hour       // by which a schedule may be ahead, since the clocks of those who make one differ
)

// schedules makes the tasks that are due. Several overseers make one for each moment, because its id is derived from
// the schedule's name and the moment. Missed moments are made up for by one task. One failure does not hold back the
// other schedules.
func (o *Overseer) schedules(ctx context.Context) (Counts, error) {
	counts := Counts{}
	clock, err := o.deps.Queue.ReadClock(ctx)
	if err != nil {
		return counts, err
	}
	now := time.UnixMilli(clock.Now).Add(-clock.Ahead())
	all, err := o.deps.Store.ListSchedules(ctx)
	if err == nil {
		all, err = o.builtIn(ctx, all, now)
	}
	if err != nil {
		return counts, err
	}
	var troubles []error
	for _, s := range all {
		made, err := o.due(ctx, s, now)
		if made {
			counts["tasks"]++
		}
		troubles = append(troubles, err)
	}
	return counts, errors.Join(troubles...)
}

// builtIn makes the schedule of the purge once in an overseer's life, unless one of that name exists or was removed:
// overseers run by cron live for one run.
func (o *Overseer) builtIn(ctx context.Context, all []core.Schedule, now time.Time) ([]core.Schedule, error) {
	if o.seeded {
		return all, nil
	}
	for _, s := range all {
		if s.Name == core.KindPurge {
			o.seeded = true
			return all, nil
		}
	}
	removed, err := o.deps.Store.ListAuditEntries(ctx, core.AuditFilter{Subject: core.KindPurge})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(removed, func(d core.AuditEntry) bool { return d.Action == core.ActSchedule }) {
		o.seeded = true
		return all, nil
	}
	_, err = o.deps.Store.PutSchedule(ctx, core.Schedule{
		Name: core.KindPurge, Cron: purgeCron, Kind: core.KindPurge, Priority: core.PriorityLow, Since: now.UnixMilli(),
	})
	if err != nil && !core.Is(err, core.CodeConflict) { // another overseer made it
		return nil, err
	}
	o.seeded = true
	return o.deps.Store.ListSchedules(ctx)
}

// due makes the task of a schedule's last moment, if it is not made yet. It returns false if nothing was due, another
// overseer made it, or the last one has not ended. Times are Redis', so that a host whose clock is ahead neither
// makes a task early nor records a moment in the future, which would keep the others from making any until then.
func (o *Overseer) due(ctx context.Context, s core.Schedule, now time.Time) (bool, error) {
	if s.Paused {
		return false, nil
	}
	times, err := schedule.Parse(s.Cron)
	if err != nil {
		if o.broken[s.Name] != s.Cron {
			o.broken[s.Name] = s.Cron
			o.log.WithError(err).WithField("schedule", s.Name).Error("a schedule is never due, because its times cannot be read")
		}
		return false, nil
	}
	if ahead := time.UnixMilli(max(s.Since, s.Last)).Sub(now); ahead > lastAhead {
		// They were written by a clock that was ahead: until it has come there, nothing would be due.
		s.Since, s.Last = min(s.Since, now.UnixMilli()), min(s.Last, now.UnixMilli())
		_, err = o.deps.Store.PutSchedule(ctx, s)
		return false, err
	}
	moment, ok := times.Last(time.UnixMilli(max(s.Since, s.Last)), now)
	if !ok {
		return false, nil
	}
	task, err := o.scheduled(s, moment)
	if err != nil {
		return false, err
	}
	_, made, err := o.deps.Intake.SubmitTask(ctx, task)
	if err != nil && !core.Is(err, core.CodeConflict) {
		return false, core.Wrap(err, core.CodeOf(err), s.Name, "schedule %s", s.Name)
	}
	s.Last = moment.UnixMilli()
	_, err = o.deps.Store.PutSchedule(ctx, s)
	if core.Is(err, core.CodeConflict) || core.Is(err, core.CodeNotFound) {
		err = nil // another overseer was faster, or the schedule was changed or removed
	}
	return made, err
}

// scheduled returns the task of a moment. At most one task of a schedule is unfinished.
func (o *Overseer) scheduled(s core.Schedule, moment time.Time) (core.Task, error) {
	args := s.Args
	if s.Kind == core.KindPurge && len(args) == 0 {
		var err error
		if args, err = json.Marshal(core.PurgeArgs{Keep: o.cfg.KeepFinished}); err != nil {
			return core.Task{}, core.Wrap(err, core.CodeInternal, s.Name, "the arguments of a purge cannot be written as JSON")
		}
	}
	var id ulid.ULID
	sum := sha256.Sum256([]byte(s.Name + "|" + strconv.FormatInt(moment.UnixMilli(), 10)))
	err := errors.Join(id.SetTime(uint64(moment.UnixMilli())), id.SetEntropy(sum[:10]))
	if err != nil {
		return core.Task{}, core.Wrap(err, core.CodeInternal, s.Name, "no id can be made for %s", moment)
	}
	return core.Task{
		ID: strings.ToLower(id.String()), Kind: s.Kind, Args: args, Priority: s.Priority, Requester: s.Requester, About: s.About,
		Unique: "schedule:" + s.Name,
	}, nil
}
