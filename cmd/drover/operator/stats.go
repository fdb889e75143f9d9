package operator

import (
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/history"
)

// StatsCommand shows what ended.
func StatsCommand() *cli.Command {
	return access.BackendCommand("stats", "show what ended: counts, faults, waits and run times", "", "drover stats --class mine --by assignment --since 168h", []cli.Flag{
		&cli.StringFlag{Name: "class", Usage: "only the tests of submissions to `CLASS`, for its staff"},
		&cli.StringFlag{Name: "by", Usage: "part it by `WHAT`: " + strings.Join(history.Ways(), ", ") + "; of a class by " + strings.Join(history.ClassWays(), ", ")},
		&cli.DurationFlag{Name: "since", Value: 24 * time.Hour, Usage: "begin `TIME` ago, such as 168h"},
		&cli.DurationFlag{Name: "until", Usage: "end `TIME` ago"},
	}, showStats)
}

func showStats(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	now := time.Now()
	s, err := statsOf(c, d, now.Add(-c.Duration("since")), now.Add(-c.Duration("until")))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, s)
	}
	all := s.Rows
	if s.Total.Total > 0 {
		all = append(all, s.Total)
	}
	rows := make([]table.Row, len(all))
	for i, r := range all {
		rows[i] = table.Row{
			terminal.Clean(r.Value), r.Total, r.Ends[core.RequestCompleted], r.Ends[core.RequestCancelled], r.Faults[core.BlameSubmission], r.Faults[core.BlameHarness], r.Faults[core.BlamePlatform],
			r.Reruns, r.Retries, r.Met(), terminal.Rounded(r.Wait.P50), terminal.Rounded(r.Wait.P95), terminal.Rounded(r.Run.P50), terminal.Rounded(r.Run.P95), terminal.Rounded(r.CPUMs), r.Again(),
		}
	}
	return terminal.PrintTable(c.App.Writer, "nothing ended: an overseer counts what ends, every half minute", table.Row{
		c.String("by"), "ended", "completed", "cancelled", "submission's fault", "harness's", "platform's", "reruns", "retries", "met a VM", "wait p50", "p95", "run p50", "p95", "cpu", "of it again",
	}, rows)
}

// statsOf asks for the statistics of the class that was named, or else of the cluster.
func statsOf(c *cli.Context, d access.Backend, from, until time.Time) (history.Stats, error) {
	if !c.IsSet("class") {
		return d.Stats(c.Context, c.String("by"), from, until)
	}
	class, err := d.FindClass(c.Context, c.String("class"))
	if err != nil {
		return history.Stats{}, err
	}
	return d.ClassStats(c.Context, class.Handle, c.String("by"), from, until)
}
