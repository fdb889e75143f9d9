package operator

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/operate"
)

// lastDay is of how long hits are shown, unless a flag says otherwise.
const lastDay = 24 * time.Hour

// hitsOf returns the hits of a pool until now.
func hitsOf(c *cli.Context, h *access.Cluster, pool string, since time.Duration, simulated bool) (operate.Hits, error) {
	now := time.Now()
	return h.Operate().Hits(c.Context, access.Operator(), pool, now.Add(-since), now, simulated)
}

// showHits prints which part of a pool's claims met a VM, and simulations of fixed numbers of them.
func showHits(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "pool's name")
	if err != nil {
		return err
	}
	hits, err := hitsOf(c, h, name, c.Duration("since"), true)
	if core.Is(err, core.CodeNotFound) && hits.Pool != "" {
		return core.Errorf(core.CodeNotFound, name, "no request of pool %s ran in that time: choose a longer one with --since", name)
	}
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, hits)
	}
	if _, err := fmt.Fprintf(c.App.Writer, "%s of %d claims met a VM that was there or being made.\n"+
		"A replay of the newest %d requests on the hosts as they are now, without other pools:\n", hits.Met(), hits.Warm+hits.Cold, hits.Replayed); err != nil {
		return err
	}
	row := func(title string, f *operate.FixedHits) table.Row {
		return table.Row{title, fmt.Sprintf("%.0f %%", f.Percent()), terminal.Rounded(f.P95), fmt.Sprintf("%.1f", f.Hours)}
	}
	rows := []table.Row{row("as set now", hits.AsSet)}
	for i := range hits.Fixed {
		rows = append(rows, row(fmt.Sprint(hits.Fixed[i].Warm), &hits.Fixed[i]))
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"warm on each host", "found a VM at once", "wait p95", "VM-hours warm"}, rows)
}
