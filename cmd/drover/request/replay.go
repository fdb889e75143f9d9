package request

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/harness"
	"drover/core/requests"
)

// maxReplays bounds the replays of one call.
const maxReplays = 100

func replayFlags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "times", Usage: fmt.Sprintf("run it `N` times, one after the other, 1 to %d, and count the verdicts", maxReplays), Value: 1},
		&cli.StringFlag{Name: "pool", Usage: "run it in `POOL`, whose VMs have the same image", DefaultText: "the request's"},
		noWaitFlag(),
	}
}

// replays are what came of the replays of a request.
type replays struct {
	ID        string                  `json:"id"`
	Same      int                     `json:"same"`
	Different int                     `json:"different"`
	Undecided int                     `json:"undecided"` // did not come to an end of their own
	Verdicts  map[harness.Verdict]int `json:"verdicts"`
	Runs      []requests.Comparison   `json:"runs"`
}

func replayRequest(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	times := c.Int("times")
	switch {
	case times < 1 || times > maxReplays:
		return core.Errorf(core.CodeInvalid, "times", "--times %d must be between 1 and %d", times, maxReplays)
	case c.Bool("no-wait") && times > 1:
		return core.Errorf(core.CodeInvalid, "times", "--no-wait and --times do not go together: the verdicts are counted as they come")
	}
	o := requests.ReplayOptions{Pool: c.String("pool")}
	if c.Bool("no-wait") {
		v, err := d.ReplayRequest(c.Context, id, o)
		if err != nil {
			return err
		}
		return sayRequested(c, v)
	}
	all := replays{ID: id, Verdicts: map[harness.Verdict]int{}, Runs: []requests.Comparison{}}
	for range times {
		one, err := replayOnce(c, d, id, o)
		if err != nil {
			return err
		}
		all.add(one)
	}
	if c.Bool("json") {
		err = terminal.PrintJSON(c.App.Writer, all)
	} else {
		err = all.print(c.App.Writer)
	}
	return cmp.Or(err, all.end())
}

// replayOnce runs a request again and waits for the comparison.
func replayOnce(c *cli.Context, d access.Backend, id string, o requests.ReplayOptions) (requests.Comparison, error) {
	v, err := d.ReplayRequest(c.Context, id, o)
	if err != nil {
		return requests.Comparison{}, err
	}
	if err := NewFollower(d, v.ID).tells(c).followOrCancel(c.Context); err != nil {
		return requests.Comparison{}, err
	}
	return compared(c.Context, d, v.ID)
}

func compared(ctx context.Context, d access.Backend, id string) (requests.Comparison, error) {
	one, err := d.CompareRequest(ctx, id)
	if err == nil && one.Is.Verdict == harness.Cancelled {
		err = terminal.ExitCode(terminal.ExitStopped)
	}
	return one, err
}

func (r *replays) add(one requests.Comparison) {
	r.Runs = append(r.Runs, one)
	r.Verdicts[one.Is.Verdict]++
	switch {
	case !one.Decided:
		r.Undecided++
	case one.Same:
		r.Same++
	default:
		r.Different++
	}
}

// end returns the exit code: what differs counts more than what could not be brought to an end.
func (r *replays) end() error {
	switch {
	case r.Different > 0:
		return terminal.ExitCode(terminal.ExitDiffers)
	case r.Undecided > 0:
		return terminal.ExitCode(terminal.ExitPlatform)
	}
	return nil
}

// print prints what differs, for people, or how often each verdict came.
func (r *replays) print(w io.Writer) error {
	if len(r.Runs) == 1 {
		return printComparison(w, &r.Runs[0])
	}
	if _, err := fmt.Fprintf(w, "%d of %d runs came to the same as request %s (%s)\n\n", r.Same, len(r.Runs), r.ID, r.Runs[0].Was.Verdict); err != nil {
		return err
	}
	rows := []table.Row{}
	for _, v := range slices.Sorted(maps.Keys(r.Verdicts)) {
		rows = append(rows, table.Row{v, r.Verdicts[v]})
	}
	if err := terminal.PrintTable(w, "", table.Row{"verdict", "runs"}, rows); err != nil || r.Different == 0 {
		return err
	}
	count := map[requests.Difference]int{}
	first := map[requests.Difference]string{}
	order := []requests.Difference{}
	for i := range r.Runs {
		for _, one := range r.Runs[i].Differences {
			if count[one]++; count[one] == 1 {
				order, first[one] = append(order, one), r.Runs[i].Replay
			}
		}
	}
	rows = rows[:0]
	for _, one := range order[:min(len(order), mostDifferences)] {
		rows = append(rows, append(row(one), count[one], first[one]))
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return terminal.PrintTable(w, "", table.Row{"what differs", "was", "is", "in runs", "first in request"}, rows)
}

// mostDifferences bounds the rows of a table of differences; --json has all.
const mostDifferences = 50

func row(d requests.Difference) table.Row {
	return table.Row{terminal.Clean(requests.NameOf(d)), short(d.Was), short(d.Is)}
}

// short returns a text for a cell, of a digest its beginning.
func short(s string) string {
	if len(s) > len("sha256:")+12 && s[:7] == "sha256:" {
		s = s[:19] + "…"
	}
	return cmp.Or(terminal.Clean(s), "-")
}

func printComparison(w io.Writer, one *requests.Comparison) error {
	switch {
	case !one.Decided:
		if _, err := fmt.Fprintf(w, "not compared: replay %s ended as %s\n", one.Replay, one.Is.Verdict); err != nil {
			return err
		}
	case one.Same:
		if _, err := fmt.Fprintf(w, "same: %s%s, as request %s\n", one.Is.Verdict, ofPoints(&one.Is), one.Of); err != nil {
			return err
		}
	default:
		rows := []table.Row{}
		for _, d := range one.Differences[:min(len(one.Differences), mostDifferences)] {
			rows = append(rows, row(d))
		}
		if err := terminal.PrintTable(w, "", table.Row{"what differs", "was", "is"}, rows); err != nil {
			return err
		}
	}
	for _, d := range one.Changed {
		if _, err := fmt.Fprintf(w, "it did not run as it was: the %s was %s, and is %s\n", requests.NameOf(d), terminal.Clean(d.Was), terminal.Clean(d.Is)); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return terminal.PrintTable(w, "", table.Row{"", "was", "is"}, besides(one))
}

func ofPoints(s *requests.Side) string {
	if s.Score == nil {
		return ""
	}
	return fmt.Sprintf(" with %s / %s points", terminal.Points(s.Score), terminal.Points(s.MaxScore))
}

// besides are the rows of what is no difference: how both came about, and what they used.
func besides(one *requests.Comparison) []table.Row {
	was, is := &one.Was, &one.Is
	rows := []table.Row{{"request", one.Of, one.Replay}}
	add := func(name, was, is string) {
		if was != "" || is != "" {
			rows = append(rows, table.Row{name, cmp.Or(terminal.Clean(was), "-"), cmp.Or(terminal.Clean(is), "-")})
		}
	}
	add("host", was.Host, is.Host)
	add("image", short(was.Image), short(is.Image))
	a, b := cmp.Or(was.Receipt, &core.Receipt{}), cmp.Or(is.Receipt, &core.Receipt{})
	add("drover", a.Drover, b.Drover)
	add("kernel", a.Kernel, b.Kernel)
	add("processors", machine(a), machine(b))
	add("noise", noiseOr(a), noiseOr(b))
	if was.Attempt > 1 || is.Attempt > 1 {
		add("attempt", strconv.Itoa(was.Attempt), strconv.Itoa(is.Attempt))
	}
	add("time by the clock", terminal.Millis(was.Usage.WallMs), terminal.Millis(is.Usage.WallMs))
	add("processor time", terminal.Millis(was.Usage.CPUMs), terminal.Millis(is.Usage.CPUMs))
	add("memory", terminal.Size(was.Usage.MemoryPeakBytes), terminal.Size(is.Usage.MemoryPeakBytes))
	for _, t := range one.Tests[:min(len(one.Tests), mostDifferences)] {
		add("test "+t.Name, usage(t.WasVerdict, t.Was), usage(t.IsVerdict, t.Is))
	}
	return rows
}

func machine(r *core.Receipt) string {
	if r.CPU == "" {
		return ""
	}
	return fmt.Sprintf("%d × %s", r.Processors, r.CPU)
}

func noiseOr(r *core.Receipt) string {
	if r.Noise == nil {
		return ""
	}
	return noise(r.Noise)
}

func usage(verdict string, u *core.Usage) string {
	if u == nil {
		return verdict
	}
	return fmt.Sprintf("%s, %s, %s", verdict, terminal.Millis(max(u.CPUMs, 0)), terminal.Size(u.MemoryPeakBytes))
}
