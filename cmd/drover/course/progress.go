package course

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core/classes"
)

func assignmentProgress(c *cli.Context, from access.Backend) error {
	as, err := assignmentArg(c, from)
	if err != nil {
		return err
	}
	p, err := from.Progress(c.Context, as.Class, as.Handle)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, p)
	}
	out, d := c.App.Writer, p.Distribution
	fmt.Fprintf(out, "%s: %d of %d students have submitted; %d final, %d late, %d waiting for results, %d without a score\n",
		as.Name(), p.Submitted, p.Students, p.Finals, p.Late, p.Waiting, p.Ungraded)
	for _, o := range p.Outcomes {
		fmt.Fprintf(out, "%6d %s\n", o.Count, outcomeWord(o.Outcome))
	}
	if p.Submitted == 0 || d.Max <= 0 {
		return nil
	}
	fmt.Fprintf(out, "mean %s, median %s of %s points\n\n", terminal.Points(&d.Mean), terminal.Points(&d.Median), terminal.Points(&d.Max))
	return terminal.PrintTable(out, "", table.Row{"points", "students", ""}, histogram(d, terminal.OnTerminal(out)))
}

// histogram returns a line for each tenth of the points, with a bar.
func histogram(d classes.Distribution, tty bool) []table.Row {
	const width = 40
	most := 0
	for _, n := range d.Counts {
		most = max(most, n)
	}
	rows := make([]table.Row, len(d.Counts))
	for i, n := range d.Counts {
		from, to := d.Max*float64(i)/classes.Buckets, d.Max*float64(i+1)/classes.Buckets
		rows[i] = table.Row{terminal.Points(&from) + " to " + terminal.Points(&to), n, request.Bar(tty, float64(n), float64(most), width)}
	}
	return rows
}
