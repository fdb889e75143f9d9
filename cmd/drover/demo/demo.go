// Package demo starts a whole cluster in one process, which grades the example assignments, or keeps a site with a
// class that has submitted them.
package demo

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/harness"
	"drover/core/requests"
	"drover/examples"
)

// Command is drover demo.
func Command() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "grade example assignments on a whole cluster in one process", OnUsageError: terminal.UsageError,
		Description: "Needs no server, no root and no set-up, and leaves nothing behind. Assignments whose compiler is\n" +
			"not on this machine are left out. Exits with 0 only if every submission got the verdict that its\n" +
			"example expects. With --keep it is a site with a class, people and their submissions, to look at\n" +
			"until Ctrl-C. With --elastic it shows hosts that come and go as work waits, for about a minute.",
		Flags: terminal.WithSettings([]cli.Flag{
			terminal.JSONFlag(),
			&cli.BoolFlag{Name: "all", Usage: "grade the submissions that run until their limit of time, too", DisableDefaultText: true},
			&cli.BoolFlag{Name: "elastic", Usage: "show a rush of requests that makes hosts, each a process, and hosts that go again", DisableDefaultText: true},
			&cli.BoolFlag{Name: "keep", Usage: "fill a site with the examples, and serve it until Ctrl-C", DisableDefaultText: true},
		}, "web"),
		Action: func(c *cli.Context) error {
			if err := terminal.NoArgs(c); err != nil {
				return err
			}
			if c.Bool("elastic") {
				if c.Bool("keep") {
					return core.Errorf(core.CodeInvalid, "", "--keep and --elastic are two demos: choose one")
				}
				return wiring.InScratch(c, runElastic)
			}
			if c.Bool("keep") {
				return wiring.InScratch(c, keepDemo)
			}
			return wiring.InScratch(c, runDemo)
		},
	}
}

// demoAssignments are the examples in the order in which they are shown.
var demoAssignments = []string{"ledger", "brackets", "coins", "guess", "shuffle"}

// runDemo grades the examples for which this machine has the tools, all at once: each as soon as it has VMs.
func runDemo(c *cli.Context, dir string) error {
	all, pools, err := loadDemo(c, dir)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		if !c.Bool("json") {
			_, _ = fmt.Fprintf(c.App.Writer, format+"\n", args...) // a progress line is no result
		}
	}
	left, chosen := 0, 0
	for _, a := range all {
		if before := len(a.expect); !c.Bool("all") {
			a.expect = slices.DeleteFunc(a.expect, func(e expected) bool { return e.Slow })
			left += before - len(a.expect)
		}
		chosen += len(a.expect)
	}
	say("starting a cluster in this process: queues, result store, testrunner, vmfactory, overseer")
	return wiring.InEmbeddedCluster(c, dir, pools, func(c *cli.Context, h *access.Cluster) error {
		say("making the first VMs of %d pools, and grading %d submissions of %d assignments as VMs get ready", len(pools), chosen, len(all))
		results, err := gradeExamples(c, h, all)
		if err != nil {
			return err
		}
		if left > 0 {
			say("\n%d submissions that run until their limit of time are left out: drover demo --all grades them as well", left)
		}
		return concludeDemo(c, results)
	})
}

// loadDemo loads the examples for which this machine has the tools, and their pools.
func loadDemo(c *cli.Context, dir string) (all []*Assignment, pools []core.Pool, err error) {
	for _, name := range demoAssignments {
		a, err := LoadAssignment(name, dir)
		if err != nil {
			return nil, nil, err
		}
		if lacks := examples.Lacking(a.Needs); len(lacks) > 0 {
			fmt.Fprintf(c.App.ErrWriter, "drover: %s is left out: this machine has no %s\n", a.Title, strings.Join(lacks, ", "))
			continue
		}
		all, pools = append(all, a), append(pools, a.Pool)
	}
	return all, pools, nil
}

// concludeDemo reports whether all results were as expected.
func concludeDemo(c *cli.Context, all []graded) error {
	wrong := 0
	for _, g := range all {
		if g.Problem != "" {
			wrong++
		}
	}
	var err error
	if c.Bool("json") {
		err = terminal.PrintJSON(c.App.Writer, all)
	} else {
		sentence := fmt.Sprintf("\nall %d submissions got the verdict that the example expects\n", len(all))
		if wrong > 0 {
			sentence = fmt.Sprintf("\n%d of %d submissions did not get the verdict that the example expects\n", wrong, len(all))
		}
		_, err = io.WriteString(c.App.Writer, sentence)
	}
	if err == nil && wrong > 0 {
		err = terminal.ExitCode(terminal.ExitFault)
	}
	return err
}

// graded is one submission of the demo and its result.
type graded struct {
	Assignment string `json:"assignment"`
	expected
	Result  *core.Result `json:"result"`
	Problem string       `json:"problem,omitempty"` // how it differs from the expected result
}

// gradeExamples grades all submissions of all assignments at once, and then prints a table for each assignment.
func gradeExamples(c *cli.Context, h *access.Cluster, assignments []*Assignment) ([]graded, error) {
	show := showProgress(c.App.Writer, c.Bool("json"), assignments)
	results := make([][]graded, len(assignments))
	group, ctx := errgroup.WithContext(c.Context)
	for n, a := range assignments {
		results[n] = make([]graded, len(a.expect))
		for i, e := range a.expect {
			group.Go(func() error {
				r, err := gradeOne(ctx, h, a, e.Name)
				if err != nil {
					return err
				}
				results[n][i] = graded{Assignment: a.Name, expected: e, Result: r, Problem: e.judge(r)}
				show.done(n, results[n][i])
				return nil
			})
		}
	}
	err := group.Wait()
	show.stop()
	if err != nil {
		return nil, err
	}
	for n, a := range assignments {
		if !c.Bool("json") {
			if _, err := fmt.Fprintf(c.App.Writer, "\n%s\n", a.Title); err != nil {
				return nil, err
			}
			if err := printGraded(c.App.Writer, results[n]); err != nil {
				return nil, err
			}
		}
	}
	return slices.Concat(results...), nil
}

func gradeOne(ctx context.Context, h *access.Cluster, a *Assignment, name string) (*core.Result, error) {
	draft := requests.Draft{Pool: a.Pool.Name, Submitter: name, Assignment: a.Name}
	submission := []string{filepath.Join(a.dir, "submissions", name)}
	if err := request.GradingDraft(&draft, filepath.Join(a.dir, "harness"), submission, harness.TestPublic); err != nil {
		return nil, err
	}
	return request.RunRequest(ctx, h.AsOperator(), draft)
}

func printGraded(w io.Writer, all []graded) error {
	tty := terminal.OnTerminal(w)
	rows := make([]table.Row, len(all))
	for i, g := range all {
		r, good := g.Result, terminal.Paint(tty, text.FgGreen, "✓")
		verdict := harness.VerdictOf(r)
		if g.Problem != "" {
			good = terminal.Paint(tty, text.FgRed, "✗ "+g.Problem)
		}
		points := ""
		if r.Score != nil && r.MaxScore != nil {
			points = request.OutOf(*r.Score, *r.MaxScore)
		}
		rows[i] = table.Row{
			g.Name, terminal.Paint(tty, request.VerdictColour(verdict), string(verdict)), points, r.Blame, terminal.Millis(terminal.Span(r.Times.Queued, r.Times.Claimed)),
			terminal.Millis(terminal.Span(r.Times.Claimed, r.Times.Started)), terminal.Millis(terminal.Span(r.Times.Started, r.Times.Finished)), good, g.About,
		}
	}
	if err := terminal.PrintTable(w, "", table.Row{"submission", "verdict", "score", "blame", "queue", "start", "run", "as expected", ""}, rows); err != nil {
		return err
	}
	for _, g := range all {
		if g.Problem != "" {
			if _, err := fmt.Fprintf(w, "\n%s: %s; %s\n%s\n", g.Name, g.Problem, terminal.Clean(g.Result.Reason), terminal.Clean(request.Tail(g.Result.Stderr, 1000))); err != nil {
				return err
			}
		}
	}
	return nil
}

// progressView shows the progress of grading: a bar for each assignment on a terminal, lines elsewhere.
type progressView struct {
	out   io.Writer
	quiet bool

	mu       sync.Mutex
	bars     progress.Writer // nil without a terminal
	trackers []*progress.Tracker
}

func showProgress(out io.Writer, quiet bool, assignments []*Assignment) *progressView {
	v := &progressView{out: out, quiet: quiet}
	if quiet || !terminal.OnTerminal(out) {
		return v
	}
	v.bars = progress.NewWriter()
	v.bars.SetOutputWriter(out)
	v.bars.SetAutoStop(false)
	v.bars.SetTrackerPosition(progress.PositionRight)
	v.bars.Style().Visibility.Percentage = false
	v.bars.Style().Options.TimeInProgressPrecision = 100 * time.Millisecond
	v.bars.Style().Options.TimeDonePrecision = 100 * time.Millisecond
	for _, a := range assignments {
		t := &progress.Tracker{Message: a.Title, Total: int64(len(a.expect))}
		v.trackers = append(v.trackers, t)
		v.bars.AppendTracker(t)
	}
	go v.bars.Render()
	return v
}

// done shows that a submission of the nth assignment is graded.
func (v *progressView) done(n int, g graded) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.quiet:
	case v.bars == nil:
		_, _ = fmt.Fprintf(v.out, "  %-24s %s\n", g.Assignment+"/"+g.Name, harness.VerdictOf(g.Result)) // a progress line is no result
	case g.Problem != "":
		v.trackers[n].IncrementWithError(1)
	default:
		v.trackers[n].Increment(1)
	}
}

func (v *progressView) stop() {
	if v.bars == nil {
		return
	}
	v.bars.Stop()
	for v.bars.IsRenderInProgress() {
		// The last frame is being drawn.
		v.bars.Stop()
	}
}
