package course

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/classes/experiment"
	"drover/core/harness"
	"drover/core/school"
)

// rerunCommand is the command of an assignment that starts an experiment.
func rerunCommand() *cli.Command {
	return access.BackendCommand("rerun", "grade the newest submission of every user anew, as an experiment: nothing counts until it is applied", "CLASS/ASSIGNMENT",
		"drover assignment rerun --harness harness/hw1-fixed --repeat 3 --wait cs101/hw1", []cli.Flag{
			&cli.StringFlag{Name: "harness", Usage: "try the harness in the folder, or the tar or zip of one, `DIR`; applied, it becomes the assignment's"},
			&cli.StringSliceFlag{Name: "user", Usage: "only those of the user `HANDLE`; repeatable"},
			&cli.IntFlag{Name: "repeat", Usage: fmt.Sprintf("run each submission `N` times, 1 to %d: more than once finds flaky tests", school.MaxRepeat), Value: 1},
			&cli.BoolFlag{Name: "wait", Usage: "wait until all have ended, and show the results", DisableDefaultText: true},
		}, rerunAssignment)
}

// ExperimentCommand is drover experiment.
func ExperimentCommand() *cli.Command {
	return &cli.Command{
		Name: "experiment", Usage: "list reruns of assignments, and apply or abort them", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("list", "list the experiments of an assignment, newest first", "CLASS/ASSIGNMENT", "drover experiment list cs101/hw1", []cli.Flag{
				&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 1000", Value: 100},
			}, listExperiments),
			access.BackendCommand("show", "show new verdicts against old ones, and the submissions that differ or are flaky", "ID", "drover experiment show 01jd…", slices.Concat([]cli.Flag{
				&cli.BoolFlag{Name: "all", Usage: "also submissions whose verdict and score stay", DisableDefaultText: true},
			}, terminal.PageFlags("after", "submission `ID`")), showExperiment),
			access.BackendCommand("apply", "make the results count, and the harness that was tried the assignment's", "ID", "drover experiment apply 01jd…", nil, applyExperiment),
			access.BackendCommand("abort", "stop it and discard its results; waiting runs are withdrawn at once", "ID", "drover experiment abort 01jd…", nil, abortExperiment),
		},
	}
}

func rerunAssignment(c *cli.Context, d access.Backend) error {
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	trial := classes.Trial{Users: c.StringSlice("user"), Repeat: c.Int("repeat")}
	if trial.Repeat == 0 {
		return core.Errorf(core.CodeInvalid, "", "--repeat 0 runs nothing: use 1 to %d", school.MaxRepeat)
	}
	if dir := c.String("harness"); dir != "" {
		pack, err := harness.Pack(dir)
		if err != nil {
			return err
		}
		trial.Harness = pack.Tar()
	}
	e, err := d.StartExperiment(c.Context, as.Class, as.Handle, trial)
	if err != nil {
		return err
	}
	if !c.Bool("wait") {
		return terminal.Say(c, e, "experiment %s of %s runs; drover experiment show %s says how it goes", e.ID, as.Name(), e.ID)
	}
	if err := followExperiment(c, d, e.ID); err != nil {
		return err
	}
	return printExperiment(c, d, e.ID, classes.OutcomePage{Differing: true, Limit: 100})
}

// experimentMost is the longest pause between looks at an experiment, which read all its waiting requests.
const experimentMost = 2 * time.Second

// followExperiment prints how far an experiment has come until its task has ended. Between its looks that task is not
// running, so its own progress cannot be used.
func followExperiment(c *cli.Context, d access.Backend, id string) error {
	tell := &task.Teller{W: c.App.ErrWriter, Terminal: terminal.OnTerminal(c.App.ErrWriter)}
	defer tell.Done()
	for pause := task.FollowFirst; ; pause = min(2*pause, experimentMost) {
		t, err := d.TrackTask(c.Context, id)
		if err != nil {
			return err
		}
		if t.State.Terminal() {
			return task.EndOfTask(&t.Task)
		}
		e, p, err := d.ExperimentProgress(c.Context, id)
		if err != nil {
			return err
		}
		tell.Tell(&classes.TaskView{Task: core.Task{Kind: t.Kind, State: core.TaskState(e.State), Progress: &p}})
		select {
		case <-c.Context.Done():
			return c.Context.Err()
		case <-time.After(pause):
		}
	}
}

func listExperiments(c *cli.Context, d access.Backend) error {
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	all, err := d.Experiments(c.Context, as.Class, as.Handle, limit)
	if err != nil {
		return err
	}
	return terminal.Page[school.Experiment]{
		Empty:  "no experiments: start one with drover assignment rerun " + as.Name(),
		Header: table.Row{"id", "state", "harness", "repeat", "began", "by", "decided by"},
		Row: func(e *school.Experiment) table.Row {
			return table.Row{e.ID, e.State, triedWord(e), e.Repeat, terminal.Since(e.Created), e.By, e.DecidedBy}
		},
	}.Print(c, all)
}

func triedWord(e *school.Experiment) string {
	if e.Harness == nil {
		return "its own"
	}
	return "another"
}

func showExperiment(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "experiment's id")
	if err != nil {
		return err
	}
	limit, err := terminal.LimitFlag(c)
	if err != nil {
		return err
	}
	return printExperiment(c, d, id, classes.OutcomePage{Differing: !c.Bool("all"), After: c.String("after"), Limit: limit})
}

func printExperiment(c *cli.Context, d access.Backend, id string, p classes.OutcomePage) error {
	v, err := d.ViewExperiment(c.Context, id, p)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, v)
	}
	if v.State == school.ExperimentRunning {
		_, p, err := d.ExperimentProgress(c.Context, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(c.App.ErrWriter, "drover: %d of %d requests have ended\n", p.Done, p.Total)
	}
	if err := printMatrix(c.App.Writer, &v); err != nil {
		return err
	}
	if len(v.Outcomes) > 0 {
		if err := printOutcomes(c.App.Writer, v.Outcomes); err != nil {
			return err
		}
		terminal.SayMore(c, len(v.Outcomes), p.Limit, "after", v.Outcomes[len(v.Outcomes)-1].Submission)
	}
	if v.State == school.ExperimentReady {
		fmt.Fprintf(c.App.ErrWriter, "drover: make it count with drover experiment apply %s, or forget it with drover experiment abort %s\n", id, id)
	}
	return nil
}

// printMatrix prints the old verdicts as rows and the new ones as columns.
func printMatrix(out io.Writer, v *classes.ExperimentView) error {
	_, err := fmt.Fprintf(out, "experiment %s of %s/%s is %s: %s\n\n", v.ID, v.Class, v.Assignment, v.State, v.Summary.Sentence())
	if err != nil || len(v.Summary.Matrix) == 0 {
		return err
	}
	var olds, news []harness.Verdict
	counts := map[[2]harness.Verdict]int{}
	for _, cell := range v.Summary.Matrix {
		olds, news = append(olds, cell.Old), append(news, cell.New)
		counts[[2]harness.Verdict{cell.Old, cell.New}] = cell.Count
	}
	slices.Sort(olds)
	slices.Sort(news)
	olds, news = slices.Compact(olds), slices.Compact(news)
	header := table.Row{"old \\ new"}
	for _, verdict := range news {
		header = append(header, verdict)
	}
	rows := make([]table.Row, len(olds))
	for i, old := range olds {
		rows[i] = table.Row{old}
		for _, verdict := range news {
			rows[i] = append(rows[i], countWord(counts[[2]harness.Verdict{old, verdict}]))
		}
	}
	if err := terminal.PrintTable(out, "", header, rows); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	return printChanges(out, v.Summary.Outcomes)
}

// printChanges prints how many submissions stand how, before and now.
func printChanges(out io.Writer, changes []experiment.OutcomeChange) error {
	rows := make([]table.Row, len(changes))
	for i, c := range changes {
		rows[i] = table.Row{outcomeWord(c.Outcome), countWord(c.Old), countWord(c.New)}
	}
	if err := terminal.PrintTable(out, "", table.Row{"outcome", "before", "now"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

func countWord(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func printOutcomes(out io.Writer, all []experiment.Outcome) error {
	rows := make([]table.Row, len(all))
	for i := range all {
		o := &all[i]
		runs := make([]string, len(o.Runs))
		for j := range o.Runs {
			runs[j] = runWord(&o.Runs[j])
		}
		by, flaky := "", ""
		if o.Difference != nil && *o.Difference != 0 {
			by = terminal.Points(o.Difference)
			if *o.Difference > 0 {
				by = "+" + by
			}
		}
		if o.Flaky {
			flaky = "flaky"
		}
		rows[i] = table.Row{terminal.Clean(o.User), o.Submission, runWord(&o.Old), strings.Join(runs, ", "), by, flaky}
	}
	return terminal.PrintTable(out, "", table.Row{"user", "submission", "old", "new", "score", ""}, rows)
}

func runWord(r *experiment.Run) string {
	if r.Score == nil {
		return string(r.Verdict)
	}
	return string(r.Verdict) + " " + terminal.Points(r.Score)
}

func applyExperiment(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "experiment's id")
	if err != nil {
		return err
	}
	done, err := d.ApplyExperiment(c.Context, id)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, done)
	}
	if _, err := fmt.Fprintf(c.App.Writer, "experiment %s is applied: the new results of %d submissions count\n", id, done.Bound); err != nil || len(done.Skipped) == 0 {
		return err
	}
	rows := make([]table.Row, len(done.Skipped))
	for i, left := range done.Skipped {
		rows[i] = table.Row{terminal.Clean(left.User), left.Submission, left.Why}
	}
	if _, err := fmt.Fprintf(c.App.Writer, "left as they are: %d\n\n", len(rows)); err != nil {
		return err
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"user", "submission", "why"}, rows)
}

func abortExperiment(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "experiment's id")
	if err != nil {
		return err
	}
	e, err := d.AbortExperiment(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Say(c, e, "experiment %s is aborted: nothing of it waits, and nothing of it counts", id)
}
