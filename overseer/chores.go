package overseer

import (
	"context"
	"time"

	"drover/core/cluster/placement"
)

// table lists the chores, in the order of an overseer that runs once: monitors decide which hosts are lost, and their
// work must be queued again before the sweep looks for missing requests.
func (o *Overseer) table() []Chore {
	in, c := o.deps.Intake, o.cfg
	chores := []Chore{{Name: "pools", Every: c.PoolsEvery, Run: count("restored", in.RestorePools)}, {Name: "wishes", Every: c.PoolsEvery, Run: o.wishes}}
	for _, m := range o.monitors() {
		chores = append(chores, o.watch(m))
	}
	chores = append(chores, []Chore{
		{Name: "reap", Every: c.JudgeEvery, Run: o.reap},
		{Name: "leases", Every: c.LeasesEvery, Run: o.leases, Wait: o.awaitLeases},
		{Name: "place", Every: placement.Every(0), Routine: true, Run: o.place, Wait: o.awaitPlacement},
		{Name: "hung", Every: hungEvery, Run: o.hung},
		{Name: "drained", Every: drainedEvery, Run: o.drained},
		{Name: "assigned", Every: assignedEvery, Run: o.assigned},
		{Name: "damp", Every: dampingEvery, Run: o.damp},
		{Name: "sweep", Every: c.SweepEvery, Run: count("queued", in.Sweep), Whole: count("queued", in.SweepAll)},
		{Name: "remove", Every: removeEvery, Run: count("deleted", in.SweepRemoved)},
		{Name: "expire", Every: c.ExpireEvery, Run: count("timed_out", in.Expire), Whole: count("timed_out", in.ExpireAll)},
		{Name: "outages", Every: outagesEvery, Run: o.outages},
		{Name: "broken", Every: c.ExpireEvery, Run: o.failBroken(in.FailBroken), Whole: o.failBroken(in.FailAllBroken)},
		{Name: "trim", Every: c.TrimEvery, Run: count("forgotten", o.trim)},
		{Name: "history", Every: c.HistoryEvery, Routine: true, Run: o.history},
		{Name: "statistics", Every: c.StatisticsEvery, Routine: true, Run: o.statistics},
		{Name: "schedules", Every: schedulesEvery, Run: o.schedules},
		{Name: "consistency", Every: c.ConsistencyEvery, Run: o.consistency},
	}...)
	if o.deps.Elastic.Instances != nil {
		chores = append(chores, Chore{Name: "scale", Every: scaleEvery, Run: o.scale})
	}
	if o.deps.Oversee != nil {
		chores = append(chores, Chore{Name: "sign", Every: signEvery, Run: o.sign(signWithin), Whole: o.sign(onceWithin)})
	}
	return chores
}

// removeEvery is how often requests are deleted that had to be stopped first.
const removeEvery = 2 * time.Second

// An overseer sends heartbeats, so that the cluster can report when there is none. The next one of an overseer run by
// cron is due after an unknown time, usually every few minutes.
const (
	signEvery  = 5 * time.Second
	signWithin = 30 * time.Second
	onceWithin = 5 * time.Minute
)

func (o *Overseer) sign(within time.Duration) func(context.Context) (Counts, error) {
	return func(ctx context.Context) (Counts, error) { return nil, o.deps.Oversee(ctx, within) }
}

// count makes a chore of a function that returns only one number.
func count(what string, run func(context.Context) (int, error)) func(context.Context) (Counts, error) {
	return func(ctx context.Context) (Counts, error) {
		n, err := run(ctx)
		return Counts{what: n}, err
	}
}

// trim makes Redis forget old tombstones.
func (o *Overseer) trim(ctx context.Context) (int, error) {
	return o.deps.Queue.Trim(ctx, o.cfg.KeepTombstones)
}
