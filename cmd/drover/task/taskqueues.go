package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

func listTaskQueues(c *cli.Context, s *access.Session) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	if err := core.Allow(s.Actor, core.ActClusterView, core.Object{}); err != nil {
		return err
	}
	queues, err := s.Redis.TaskQueues(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(queues))
	}
	slices.SortStableFunc(queues, func(a, b core.TaskQueueInfo) int { return cmp.Compare(a.Kind, b.Kind) })
	rows := make([]table.Row, len(queues))
	for i, q := range queues {
		rows[i] = table.Row{q.Kind, q.Priority, q.Waiting, q.Lanes, rateWord(q.Rate), nextWord(q.Next)}
	}
	return terminal.PrintTable(c.App.Writer, "no task waits", table.Row{"kind", "priority", "waiting", "lanes", "rate", "next"}, rows)
}

// rateWord is how often tasks of a kind may begin.
func rateWord(r core.TaskRate) string {
	var words []string
	if r.Every > 0 {
		words = append(words, "one every "+r.Every.String(), fmt.Sprintf("%d at once", max(r.Burst, 1)))
	}
	if r.Most > 0 {
		words = append(words, fmt.Sprintf("at most %d in hand", r.Most))
	}
	if len(words) == 0 {
		return "not bounded"
	}
	return strings.Join(words, ", ")
}

func nextWord(ms int64) string {
	if left := time.Until(time.UnixMilli(ms)); ms > 0 && left > 0 {
		return "in " + left.Round(10*time.Millisecond).String()
	}
	return "now"
}
