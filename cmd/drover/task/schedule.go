package task

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/schedule"
	"drover/core/school"
)

// ScheduleCommand is drover schedule.
func ScheduleCommand() *cli.Command {
	return &cli.Command{
		Name: "schedule", Usage: "create tasks at fixed times", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.UserCommand("list", "list schedules, and when each is due next", "", "drover schedule list", []cli.Flag{terminal.ZoneFlag()}, listSchedules),
			access.UserCommand("set", "create a schedule, or change its named settings", "NAME",
				`drover schedule set --at "CRON_TZ=Europe/Berlin 0 6 * * 1" --make gradebook --of cs101 cs101-weekly`, slices.Concat([]cli.Flag{
					&cli.StringFlag{Name: "at", Usage: "when: `TIMES` as in cron, minute hour day month weekday, or @daily and the like; in UTC, or in a zone after CRON_TZ=ZONE"},
					&cli.StringFlag{Name: "make", Usage: "what: `KIND` " + strings.Join(school.Schedulable().Names(), ", ")},
					&cli.StringFlag{Name: "of", Usage: "of which `CLASS`, or CLASS/ASSIGNMENT"},
					&cli.BoolFlag{Name: "paused", Usage: "pause the schedule (--paused=false resumes it)"},
				}, ArgFlags(scheduleArgs())), setSchedule),
			access.UserCommand("remove", "remove a schedule; what it made stays", "NAME", "drover schedule remove cs101-weekly", nil, removeSchedule),
			access.UserCommand("run", "make its task now, out of turn", "NAME", "drover schedule run purge", WaitFlags(), runSchedule),
		},
	}
}

// ScheduleView is a schedule with the moment at which it is due next.
type ScheduleView struct {
	core.Schedule
	Next int64 `json:"next_ms,omitempty"` // 0 for a paused one
}

func viewSchedule(s core.Schedule) ScheduleView {
	v := ScheduleView{Schedule: s}
	if times, err := schedule.Parse(s.Cron); err == nil && !s.Paused {
		for _, next := range times.Next(time.Now(), 1) {
			v.Next = next.UnixMilli()
		}
	}
	return v
}

func listSchedules(c *cli.Context, s *access.Session) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	all, err := s.Reg.Schedules(c.Context, s.Actor)
	if err != nil {
		return err
	}
	views := make([]ScheduleView, len(all))
	rows := make([]table.Row, len(all))
	for i, one := range all {
		v := viewSchedule(one)
		views[i] = v
		next := terminal.PausedWord(v.Paused)
		if v.Next > 0 {
			next = terminal.ShowMoment(v.Next, at)
		}
		rows[i] = table.Row{v.Name, v.Cron, v.Kind, v.About, v.Requester, next, terminal.ShortMoment(v.Last, at)}
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, views)
	}
	return terminal.PrintTable(c.App.Writer, "no schedules: make one with drover schedule set NAME", table.Row{"schedule", "times", "makes", "of", "for", "next", "last"}, rows)
}

func setSchedule(c *cli.Context, s *access.Session) error {
	name, err := terminal.OneArg(c, "schedule's name")
	if err != nil {
		return err
	}
	if err := core.CheckName("schedule", name); err != nil {
		return err
	}
	all, err := s.Reg.Schedules(c.Context, s.Actor)
	if err != nil {
		return err
	}
	made := core.Schedule{Name: name}
	for _, one := range all {
		if one.Name == name {
			made = one
		}
	}
	if err := applyScheduleFlags(c, s, &made); err != nil {
		return err
	}
	if made, err = s.Reg.SetSchedule(c.Context, s.Actor, made); err != nil {
		return err
	}
	v := viewSchedule(made)
	if v.Next == 0 {
		return terminal.Say(c, v, "schedule %s is set, and paused", name)
	}
	return terminal.Say(c, v, "schedule %s is set; it is due next %s", name, terminal.ShowMoment(v.Next, time.Local))
}

// applyScheduleFlags changes the fields whose flags are given. Fields of the task are changed only with --make.
func applyScheduleFlags(c *cli.Context, s *access.Session, made *core.Schedule) error {
	if c.IsSet("at") {
		made.Cron = c.String("at")
	}
	if c.IsSet("paused") {
		made.Paused = c.Bool("paused")
	}
	if !c.IsSet("make") {
		for _, a := range append(scheduleArgs(), core.TaskArg{Name: "of"}) {
			if name := a.Flag(); c.IsSet(name) {
				return core.Errorf(core.CodeInvalid, name, "--%s belongs to what is made: say that too, with --make KIND", name)
			}
		}
		return nil
	}
	made.Kind = c.String("make")
	var err error
	made.Args, err = scheduledArgs(c, s, made.Kind)
	return err
}

// scheduleArgs returns the arguments of all schedulable kinds, each once.
func scheduleArgs() []core.TaskArg {
	var all []core.TaskArg
	for _, k := range school.Schedulable() {
		for _, a := range k.Options() {
			if !slices.ContainsFunc(all, func(one core.TaskArg) bool { return one.Name == a.Name }) {
				all = append(all, a)
			}
		}
	}
	return all
}

// scheduledArgs returns the arguments of the task in the flags.
func scheduledArgs(c *cli.Context, s *access.Session, kind string) (json.RawMessage, error) {
	k, err := school.Schedulable().Find(kind)
	if err != nil {
		return nil, nil //nolint:nilerr // the classes service says which kinds there are
	}
	texts := ArgTexts(c, k.Options())
	switch k.About() {
	case core.ArgAssignment:
		as, err := s.Reg.FindAssignment(c.Context, s.Actor, c.String("of"))
		if err != nil {
			return nil, err
		}
		texts["class"], texts["assignment"] = as.Class, as.Handle
	case core.ArgClass:
		class, err := s.Reg.FindClass(c.Context, s.Actor, c.String("of"))
		if err != nil {
			return nil, err
		}
		texts["class"] = class.Handle
	default:
	}
	return k.Write(texts)
}

func removeSchedule(c *cli.Context, s *access.Session) error {
	name, err := terminal.OneArg(c, "schedule's name")
	if err != nil {
		return err
	}
	if err := s.Reg.RemoveSchedule(c.Context, s.Actor, name); err != nil {
		return err
	}
	return terminal.Say(c, map[string]string{"name": name}, "schedule %s is removed", name)
}

func runSchedule(c *cli.Context, s *access.Session) error {
	name, err := terminal.OneArg(c, "schedule's name")
	if err != nil {
		return err
	}
	t, err := s.Reg.RunSchedule(c.Context, s.Actor, name)
	if err != nil {
		return err
	}
	t, ended, err := Started(c, s, t)
	if err != nil || !ended {
		return err
	}
	return terminal.Say(c, t, "task %s (%s) is done: %s", t.ID, t.Kind, terminal.Clean(t.Note))
}

// ArgFlags are the flags for arguments of tasks.
func ArgFlags(args []core.TaskArg) []cli.Flag {
	var all []cli.Flag
	for _, a := range args {
		usage := Lowered(a.Label)
		switch a.Type {
		case core.ArgFlag:
			all = append(all, &cli.BoolFlag{Name: a.Flag(), Usage: usage, DisableDefaultText: true})
		case core.ArgTime:
			all = append(all, &cli.DurationFlag{Name: a.Flag(), Usage: usage, DefaultText: a.Default})
		case core.ArgUser:
			all = append(all, &cli.StringFlag{Name: a.Flag(), Usage: usage + ": `HANDLE`", DefaultText: a.Default})
		default:
			all = append(all, &cli.StringFlag{Name: a.Flag(), Usage: usage + ": `TEXT`", DefaultText: a.Default})
		}
	}
	return all
}

// ArgTexts returns the arguments set by flags.
func ArgTexts(c *cli.Context, args []core.TaskArg) map[string]string {
	texts := map[string]string{}
	for _, a := range args {
		if c.IsSet(a.Flag()) {
			texts[a.Flag()] = fmt.Sprint(c.Value(a.Flag()))
		}
	}
	return texts
}

// Lowered returns a sentence in the form of a command's help.
func Lowered(sentence string) string { return strings.ToLower(sentence[:1]) + sentence[1:] }
