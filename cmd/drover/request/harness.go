package request

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/agent/boxrun"
	"drover/core/agent/wire"
	"drover/core/harness"
	"drover/core/requests"
)

// HarnessCommand is drover harness.
func HarnessCommand() *cli.Command {
	return &cli.Command{
		Name: "harness", Usage: "check grading programs", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{{
			Name: "check", Usage: "check a harness folder, or a tar or zip of one", UsageText: "drover harness check [flags] DIR", OnUsageError: terminal.UsageError,
			Description: "With --submission it grades that, too, on a cluster that lives only for this command.",
			Flags: terminal.WithSettings([]cli.Flag{
				&cli.StringSliceFlag{Name: "submission", Usage: "a file of a submission to try, or a folder of them: `PATH`; repeatable"},
				terminal.JSONFlag(),
			}),
			Action: checkHarness,
		}},
	}
}

// checkedTest is a test of the stock harness in the output of --json.
type checkedTest struct {
	Name    string  `json:"name"`
	Hidden  bool    `json:"hidden"`
	Points  float64 `json:"points"`
	Compare string  `json:"compare"`
	TimeMs  int64   `json:"time_ms"`
	WallMs  int64   `json:"wall_ms"`
}

// Checked is the result of a check.
type Checked struct {
	Folder   string        `json:"folder"`
	Cases    bool          `json:"cases"` // it is for the stock harness
	Tests    []checkedTest `json:"tests,omitempty"`
	Points   float64       `json:"points"`
	Warnings []string      `json:"warnings"`
	Result   *core.Result  `json:"result,omitempty"` // of the submission that was tried
}

func checkHarness(c *cli.Context) error {
	if c.NArg() != 1 {
		return core.Errorf(core.CodeInvalid, "", "which folder? drover harness check [flags] DIR")
	}
	dir := c.Args().First()
	pack, err := harness.Pack(dir)
	if err != nil {
		return err
	}
	found := Checked{Folder: dir, Cases: pack.Cases != nil, Warnings: []string{}}
	pool := core.DefaultPool("default")
	pool.Peer, pool.Unboxed = pack.Peer(), true // for the cluster that is made for it, where a warning is enough
	found.Look(&pack, pool.Limits, pool.Peer)
	if paths := c.StringSlice("submission"); len(paths) > 0 {
		pool.Limits.Timeout = max(pool.Limits.Timeout, min(asked(&pack), longestCheck))
		if found.Result, err = tryHarness(c, pool, dir, paths); err != nil {
			return err
		}
	}
	if found.Result != nil && !found.Cases {
		found.Reach(found.Result.HeldBy)
	}
	if c.Bool("json") {
		err = terminal.PrintJSON(c.App.Writer, found)
	} else {
		err = printChecked(c, &found)
	}
	if err == nil && found.Result != nil {
		err = endOfGrading(found.Result)
	}
	return err
}

// longestCheck bounds one grading by drover harness check, whatever the harness asks for.
const longestCheck = time.Hour

// asked is the time that a harness asks for one grading; 0 if it does not say.
func asked(p *harness.Package) time.Duration {
	if p.Cases != nil {
		return p.Cases.Timeout
	}
	return p.Config.Timeout
}

// Look lists the tests, and warnings for their author.
func (f *Checked) Look(p *harness.Package, limits core.Limits, peer bool) {
	for _, w := range p.Warnings(limits, peer) {
		f.Warnings = append(f.Warnings, w.String())
	}
	if p.Cases == nil {
		return
	}
	for _, t := range p.Cases.Tests() {
		f.Tests = append(f.Tests, checkedTest{
			Name: t.Title(), Hidden: t.Hidden, Points: t.Points, Compare: t.Compare.By, TimeMs: t.Limits.Time.Milliseconds(), WallMs: t.Limits.Wall.Milliseconds(),
		})
		f.Points += t.Points
	}
}

// Reach says what a submission can do to a program that graded it here.
func (f *Checked) Reach(held map[string]string) {
	const mend = "run drover as root, or with newuidmap and users lent in /etc/subuid, for a user of its own"
	switch by, told := held[wire.LimitHarness]; {
	case !told || by == wire.HeldByUser || by == wire.HeldByPeer:
	case by == wire.HeldByLandlock:
		f.warn("on this machine %s keeps a submission from the harness by %s: it can change modes and times of its files; %s",
			boxrun.Name, by, mend)
	default:
		f.warn("on this machine nothing keeps a submission from the harness: VMs have one user, and the kernel has no Landlock; %s", mend)
	}
}

func (f *Checked) warn(format string, args ...any) {
	f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
}

// tryHarness grades a submission on an embedded cluster.
func tryHarness(c *cli.Context, pool core.Pool, dir string, paths []string) (result *core.Result, err error) {
	err = wiring.InScratch(c, func(c *cli.Context, scratch string) error {
		return wiring.InEmbeddedCluster(c, filepath.Clean(scratch), []core.Pool{pool}, func(c *cli.Context, h *access.Cluster) error {
			draft := requests.Draft{Pool: pool.Name, Submitter: "check"}
			if err := GradingDraft(&draft, dir, paths, harness.TestFinal); err != nil {
				return err
			}
			result, err = RunRequest(c.Context, h.AsOperator(), draft)
			return err
		})
	})
	return result, err
}

func printChecked(c *cli.Context, f *Checked) error {
	out := c.App.Writer
	if f.Cases {
		rows := make([]table.Row, len(f.Tests))
		for i, t := range f.Tests {
			shown := "public"
			if t.Hidden {
				shown = "hidden"
			}
			rows[i] = table.Row{terminal.Clean(t.Name), terminal.Points(&t.Points), shown, t.Compare, terminal.Millis(t.TimeMs), terminal.Millis(t.WallMs)}
		}
		if err := terminal.PrintTable(out, "", table.Row{"test", "points", "shown", "compared", "time", "clock"}, rows); err != nil {
			return err
		}
	}
	for _, w := range f.Warnings {
		if _, err := fmt.Fprintln(out, "note: "+w); err != nil {
			return err
		}
	}
	sentence := f.Folder + " is a harness with a program of its own"
	if f.Cases {
		sentence = fmt.Sprintf("%s is right: %d tests, %s points", f.Folder, len(f.Tests), terminal.Points(&f.Points))
	}
	if _, err := fmt.Fprintln(out, sentence); err != nil {
		return err
	}
	if f.Result == nil {
		return nil
	}
	return PrintReport(out, f.Result)
}
