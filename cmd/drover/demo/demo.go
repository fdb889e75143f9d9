// Package demo starts a whole cluster in one process, which grades the example assignments, or keeps a site with a
// class that has submitted them.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/urfave/cli/v2"

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

// demoAssignments are the examples in the order in which they are graded.
var demoAssignments = []string{"ledger", "brackets", "coins", "guess", "shuffle"}

// runDemo grades the examples for which this machine has the tools.
func runDemo(c *cli.Context, dir string) error {
	all, pools, err := loadDemo(c, dir)
	if err != nil {
		return err
	}
	return wiring.InEmbeddedCluster(c, dir, pools, func(c *cli.Context, h *access.Cluster) error {
		var results []graded
		for _, a := range all {
			more, err := gradeExample(c, h, a)
			if err != nil {
				return err
			}
			results = append(results, more...)
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

// gradeExample grades all submissions of an assignment at once.
func gradeExample(c *cli.Context, h *access.Cluster, a *Assignment) ([]graded, error) {
	out := c.App.Writer
	show := showProgress(out, c.Bool("json"), a)
	all := make([]graded, len(a.expect))
	errs := make([]error, len(a.expect))
	var wg sync.WaitGroup
	for i, e := range a.expect {
		wg.Go(func() {
			all[i].expected, all[i].Assignment = e, a.Name
			all[i].Result, errs[i] = gradeOne(c.Context, h, a, e.Name)
			if errs[i] == nil {
				all[i].Problem = e.judge(all[i].Result)
				show.done(i, all[i])
			}
		})
	}
	wg.Wait()
	show.stop()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if !c.Bool("json") {
		return all, printGraded(out, all)
	}
	return all, nil
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

// progressView shows the progress of grading: bars on a terminal, lines elsewhere.
type progressView struct {
	out   io.Writer
	quiet bool

	mu       sync.Mutex
	bars     progress.Writer // nil without a terminal
	trackers []*progress.Tracker
}

func showProgress(out io.Writer, quiet bool, a *Assignment) *progressView {
	v := &progressView{out: out, quiet: quiet}
	if quiet {
		return v
	}
	_, _ = fmt.Fprintf(out, "%s: %d submissions\n", a.Title, len(a.expect)) // a progress line is no result
	if !terminal.OnTerminal(out) {
		return v
	}
	v.bars = progress.NewWriter()
	v.bars.SetOutputWriter(out)
	v.bars.SetAutoStop(false)
	v.bars.SetTrackerPosition(progress.PositionRight)
	v.bars.Style().Visibility.Percentage = false
	v.bars.Style().Visibility.Value = false
	for _, e := range a.expect {
		t := &progress.Tracker{Message: e.Name + ": " + e.About}
		v.trackers = append(v.trackers, t)
		v.bars.AppendTracker(t)
	}
	go v.bars.Render()
	return v
}

func (v *progressView) done(i int, g graded) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.quiet:
	case v.bars == nil:
		_, _ = fmt.Fprintf(v.out, "  %-14s %s\n", g.Name, harness.VerdictOf(g.Result)) // a progress line is no result
	case g.Problem != "":
		v.trackers[i].MarkAsErrored()
	default:
		v.trackers[i].MarkAsDone()
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
