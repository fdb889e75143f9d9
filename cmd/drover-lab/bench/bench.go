// Package bench measures the queue with all its guarantees, with jobs that do nothing, and whole clusters with real
// jobs.
package bench

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
)

// Command is drover-lab bench. What drover returns is the path of the program whose clusters are measured.
func Command(drover func() (string, error)) *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "measure drover on this machine", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{{
			Name: "queue", Usage: "submit, claim and finish requests that do nothing, on a private redis-server", OnUsageError: terminal.UsageError,
			Description: "Every guarantee is on: fair turns, classes, tokens, events, tombstones, heartbeats. First all\n" +
				"requests are submitted, then the slots of one process claim and finish them; the clean VMs are there\n" +
				"from the start. Then single requests meet idle slots, for the time from submit to claimed.",
			Flags: []cli.Flag{
				&cli.IntFlag{Name: "slots", Usage: "workers of the one process", Value: 100},
				&cli.IntFlag{Name: "jobs", Usage: "requests", Value: 50_000},
				&cli.IntFlag{Name: "submitters", Usage: "submitters who take turns", Value: 1},
				&cli.IntFlag{Name: "owners", Usage: "other owners, ten a host, that send heartbeats every second; an overseer judges them"},
				&cli.IntFlag{Name: "idle-samples", Usage: "requests submitted one by one to idle slots; 0 for none", Value: 500},
				&cli.StringFlag{Name: "aof", Usage: "the server's append-only file: `MODE` off, everysec or always", Value: "off"},
				terminal.JSONFlag(),
			},
			Action: benchQueueAction,
		}, jobsCommand(drover)},
	}
}

func benchQueueAction(c *cli.Context) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	b := queueBench{
		Slots: c.Int("slots"), Jobs: c.Int("jobs"), Submitters: c.Int("submitters"), Owners: c.Int("owners"),
		IdleSamples: c.Int("idle-samples"), AOF: c.String("aof"),
	}
	if err := b.check(); err != nil {
		return err
	}
	r, err := b.run(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, r)
	}
	return r.print(c.App.Writer)
}

func (b queueBench) check() error {
	const most = 10_000_000
	for name, n := range map[string]int{"slots": b.Slots, "jobs": b.Jobs, "submitters": b.Submitters} {
		if n < 1 || n > most {
			return core.Errorf(core.CodeInvalid, name, "--%s %d must be between 1 and %d", name, n, most)
		}
	}
	if b.Owners < 0 || b.Owners > 10_000 {
		return core.Errorf(core.CodeInvalid, "owners", "--owners %d must be between 0 and 10000", b.Owners)
	}
	if b.IdleSamples < 0 || b.IdleSamples > most {
		return core.Errorf(core.CodeInvalid, "idle-samples", "--idle-samples %d must be between 0 and %d", b.IdleSamples, most)
	}
	if b.AOF != "off" && b.AOF != "everysec" && b.AOF != "always" {
		return core.Errorf(core.CodeInvalid, "aof", "--aof %q is none: use off, everysec or always", b.AOF)
	}
	return nil
}

func (r queueReport) print(w io.Writer) error {
	return terminal.PrintTable(w, "", table.Row{"", "", ""}, []table.Row{
		{"claimed and finished", fmt.Sprintf("%.0f", r.JobsPerS), "jobs/s"},
		{"submitted", fmt.Sprintf("%.0f", r.SubmittedPerS), "jobs/s"},
		{"Redis, claim and finish", fmt.Sprintf("%.2f", r.RedisMicros), "µs/job"},
		{"Redis, submit", fmt.Sprintf("%.2f", r.RedisSubmitMicros), "µs/job"},
		{"script calls, claim and finish", fmt.Sprintf("%.4f", r.ScriptCalls), "/job"},
		{"finish and next claim, p50", r.P50Micros, "µs"},
		{"finish and next claim, p99", r.P99Micros, "µs"},
		{"idle: submit to claimed, p50", r.IdleP50Micros, "µs"},
		{"idle: submit to claimed, p99", r.IdleP99Micros, "µs"},
		{"other owners taken for dead", r.FalseDeaths, ""},
	})
}
