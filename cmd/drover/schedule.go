package main

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/cluster/schedule"
)

func scheduleCommand() *cli.Command {
	return &cli.Command{
		Name: "schedule", Usage: "make tasks again and again", OnUsageError: usageError,
		Subcommands: []*cli.Command{
			userCommand("list", "list schedules, and when each is due next", "", "drover schedule list", []cli.Flag{zoneFlag()}, listSchedules),
			userCommand("set", "make a schedule, or change those settings of it that are named", "NAME",
				`drover schedule set --at "CRON_TZ=Europe/Berlin 0 6 * * 1" --make gradebook --of cs101 cs101-weekly`, []cli.Flag{
					&cli.StringFlag{Name: "at", Usage: "when: `TIMES` as in cron, minute hour day month weekday, or @daily and the like; in UTC, or in a zone after CRON_TZ=ZONE"},
					&cli.StringFlag{Name: "make", Usage: "what: `KIND` " + strings.Join([]string{core.KindPurge, core.KindArchive, core.KindAssignmentCSV, core.KindGradebook}, ", ")},
					&cli.StringFlag{Name: "of", Usage: "of which `CLASS`, or CLASS/ASSIGNMENT"},
					&cli.StringFlag{Name: "fill", Usage: "what stands in a gradebook where there is no score: `TEXT`"},
					&cli.BoolFlag{Name: "latest", Usage: "only the newest submission of each user in an archive"},
					&cli.DurationFlag{Name: "keep", Usage: "how long a purge leaves finished work, such as 720h", DefaultText: "keep_finished"},
					&cli.BoolFlag{Name: "paused", Usage: "make nothing (--paused=false to go on)"},
				}, setSchedule),
			userCommand("remove", "remove a schedule; what it made stays", "NAME", "drover schedule remove cs101-weekly", nil, removeSchedule),
			userCommand("run", "make its task now, out of turn", "NAME", "drover schedule run purge", waitFlags(), runSchedule),
		},
	}
}

// scheduleView is a schedule with the moment at which it is due next.
type scheduleView struct {
	core.Schedule
	Next int64 `json:"next_ms,omitempty"` // 0 for a paused one
}

func viewSchedule(s core.Schedule) scheduleView {
	v := scheduleView{Schedule: s}
	if times, err := schedule.Parse(s.Cron); err == nil && !s.Paused {
		for _, next := range times.Next(time.Now(), 1) {
			v.Next = next.UnixMilli()
		}
	}
	return v
}

func listSchedules(c *cli.Context, s *session) error {
	if err := noArgs(c); err != nil {
		return err
	}
	at, err := zone(c)
	if err != nil {
		return err
	}
	all, err := s.reg.Schedules(c.Context, s.actor)
	if err != nil {
		return err
	}
	views := make([]scheduleView, len(all))
	rows := make([]table.Row, len(all))
	for i, one := range all {
		v := viewSchedule(one)
		views[i] = v
		next := pausedWord(v.Paused)
		if v.Next > 0 {
			next = showMoment(v.Next, at)
		}
		rows[i] = table.Row{v.Name, v.Cron, v.Kind, v.About, v.Requester, next, shortMoment(v.Last, at)}
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, views)
	}
	return printTable(c.App.Writer, "no schedules: make one with drover schedule set NAME", table.Row{"schedule", "times", "makes", "of", "for", "next", "last"}, rows)
}

func setSchedule(c *cli.Context, s *session) error {
	name, err := oneArg(c, "schedule's name")
	if err != nil {
		return err
	}
	if err := core.CheckName("schedule", name); err != nil {
		return err
	}
	all, err := s.reg.Schedules(c.Context, s.actor)
	if err != nil {
		return err
	}
	made := core.Schedule{Name: name}
	for _, one := range all {
		if one.Name == name {
			made = one
		}
	}
	if err := s.applyScheduleFlags(c, &made); err != nil {
		return err
	}
	if made, err = s.reg.SetSchedule(c.Context, s.actor, made); err != nil {
		return err
	}
	v := viewSchedule(made)
	if v.Next == 0 {
		return say(c, v, "schedule %s is set, and paused", name)
	}
	return say(c, v, "schedule %s is set; it is due next %s", name, showMoment(v.Next, time.Local))
}

// applyScheduleFlags changes what flags name. What belongs to the task counts only with --make.
func (s *session) applyScheduleFlags(c *cli.Context, made *core.Schedule) error {
	if c.IsSet("at") {
		made.Cron = c.String("at")
	}
	if c.IsSet("paused") {
		made.Paused = c.Bool("paused")
	}
	if !c.IsSet("make") {
		for _, name := range []string{"of", "fill", "latest", "keep"} {
			if c.IsSet(name) {
				return core.Errorf(core.CodeInvalid, name, "--%s belongs to what is made: say that too, with --make KIND", name)
			}
		}
		return nil
	}
	made.Kind, made.Args = c.String("make"), nil
	args, err := s.scheduledArgs(c, made.Kind)
	if err != nil || args == nil {
		return err
	}
	made.Args, err = json.Marshal(args)
	return core.Wrap(err, core.CodeInternal, made.Name, "the arguments cannot be written")
}

// scheduledArgs are the arguments of the task that flags describe; nil for none.
func (s *session) scheduledArgs(c *cli.Context, kind string) (any, error) {
	find := func() (core.Assignment, error) { return s.reg.FindAssignment(c.Context, s.actor, c.String("of")) }
	switch kind {
	case core.KindPurge:
		if !c.IsSet("keep") {
			return nil, nil //nolint:nilnil // the cluster's own setting counts
		}
		return core.PurgeArgs{Keep: c.Duration("keep")}, nil
	case core.KindArchive:
		as, err := find()
		return core.ArchiveArgs{Class: as.Class, Assignment: as.Handle, Latest: c.Bool("latest")}, err
	case core.KindAssignmentCSV:
		as, err := find()
		return core.AssignmentCSVArgs{Class: as.Class, Assignment: as.Handle, Header: true}, err
	case core.KindGradebook:
		class, err := s.reg.FindClass(c.Context, s.actor, c.String("of"))
		return core.GradebookArgs{Class: class.Handle, Fill: c.String("fill")}, err
	}
	return nil, nil //nolint:nilnil // the classes service says which kinds there are
}

func removeSchedule(c *cli.Context, s *session) error {
	name, err := oneArg(c, "schedule's name")
	if err != nil {
		return err
	}
	if err := s.reg.RemoveSchedule(c.Context, s.actor, name); err != nil {
		return err
	}
	return say(c, map[string]string{"name": name}, "schedule %s is removed", name)
}

func runSchedule(c *cli.Context, s *session) error {
	name, err := oneArg(c, "schedule's name")
	if err != nil {
		return err
	}
	t, err := s.reg.RunSchedule(c.Context, s.actor, name)
	if err != nil {
		return err
	}
	t, ended, err := started(c, s, t)
	if err != nil || !ended {
		return err
	}
	return say(c, t, "task %s (%s) is done: %s", t.ID, t.Kind, clean(t.Note))
}
