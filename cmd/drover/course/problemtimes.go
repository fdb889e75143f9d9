package course

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core/harness/problem"
)

// packageTimes are the times of a verification, in ms.
type packageTimes struct {
	Whole   int64  `json:"whole_ms"`             // by the clock, from the first upload to the last result
	Grading int64  `json:"grading_ms"`           // by the clock, of all gradings together
	Build   int64  `json:"build_ms"`             // of these, until the first test could start
	Slowest int64  `json:"slowest_ms,omitempty"` // processor time of the slowest test of an accepted submission
	Test    string `json:"slowest_test,omitempty"`
	Of      string `json:"slowest_submission,omitempty"`
}

func (v *verification) times() packageTimes {
	t := packageTimes{Whole: v.took.Milliseconds()}
	for i := range v.rows {
		r := &v.rows[i]
		t.Grading, t.Build = t.Grading+r.WallMs, t.Build+r.BuildMs
		if r.timed && r.Got == problem.Accepted && r.Slowest != "" && (t.Test == "" || r.CPUMs > t.Slowest) {
			t.Slowest, t.Test, t.Of = r.CPUMs, r.Slowest, r.Path
		}
	}
	return t
}

// sentence says the times; limit is a test's, in ms.
func (t *packageTimes) sentence(limit int64) string {
	text := fmt.Sprintf("took %s; gradings %s together, of which building %s", terminal.Millis(t.Whole), terminal.Millis(t.Grading), terminal.Millis(t.Build))
	if t.Test != "" && limit > 0 {
		const whole = 100
		text += fmt.Sprintf("; slowest accepted %s, %d %% of the limit: %s of %s", terminal.Millis(t.Slowest), t.Slowest*whole/limit, t.Test, t.Of)
	}
	return terminal.Clean(text)
}

func (v *verification) print(c *cli.Context) error {
	times, limit := v.times(), v.p.Limits.Time.Milliseconds()
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{
			"title": v.p.Title, "time_ms": limit, "times": times, "rows": terminal.OrEmpty(v.rows), "notes": notes(v.p.Notes),
		})
	}
	rows := make([]table.Row, len(v.rows))
	var wrong []string
	for i, r := range v.rows {
		mark := "ok"
		if !r.Fits {
			mark = "WRONG"
			wrong = append(wrong, fmt.Sprintf("%s: %s, and the package says %s (%s)", r.Path, r.Got, r.Wanted, r.About))
		}
		score := ""
		if r.Score != nil && r.Max != nil {
			score = request.OutOf(*r.Score, *r.Max)
		}
		rows[i] = table.Row{
			mark, terminal.Clean(r.Path), r.Wanted, string(r.Got), score, terminal.Millis(r.CPUMs), terminal.Clean(r.Slowest),
			terminal.Size(r.Memory), terminal.Millis(r.WallMs),
		}
	}
	head := table.Row{"", "program", "expected", "outcome", "points", "slowest", "test", "memory", "grading"}
	err := terminal.PrintTable(c.App.Writer, "the package has no submissions", head, rows)
	if err != nil {
		return err
	}
	sentence := fmt.Sprintf("time limit %s; %d of %d programs end as the package says", v.p.Limits.Time, len(v.rows)-len(wrong), len(v.rows))
	if _, err = fmt.Fprintln(c.App.Writer, strings.Join(append([]string{sentence, times.sentence(limit)}, wrong...), "\n")); err != nil {
		return err
	}
	return printNotes(c, v.p)
}
