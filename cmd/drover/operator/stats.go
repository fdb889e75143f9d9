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
	return access.ClusterCommand("stats", "show what ended: counts, waits and run times", "", []cli.Flag{
		&cli.StringFlag{Name: "by", Usage: "part it by `WHAT`: " + strings.Join(history.Ways(), ", ")},
		&cli.DurationFlag{Name: "since", Value: 24 * time.Hour, Usage: "begin `TIME` ago, such as 168h"},
		&cli.DurationFlag{Name: "until", Usage: "end `TIME` ago"},
	}, showStats)
}

func showStats(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	now := time.Now()
	s, err := history.Read(c.Context, h.Store, c.String("by"), now.Add(-c.Duration("since")), now.Add(-c.Duration("until")), now)
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
		good := r.Ends[core.RequestCompleted]
		rows[i] = table.Row{
			terminal.Clean(r.Value), r.Total, good, r.Total - good, r.Retries, r.Met(), ms(r.Wait.P50), ms(r.Wait.P95), ms(r.Run.P50), ms(r.Run.P95), ms(r.CPUMs),
		}
	}
	return terminal.PrintTable(c.App.Writer, "nothing ended: an overseer counts what ends, every half minute",
		table.Row{c.String("by"), "ended", "completed", "other", "retries", "met a VM", "wait p50", "p95", "run p50", "p95", "cpu"}, rows)
}

// ms is a time as people read it.
func ms(n int64) string {
	d := time.Duration(n) * time.Millisecond
	if d > time.Minute {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}
