// Command peers runs drover bench queue and its rivals in turns, each on a
// redis-server of its own over a unix socket, and prints paired ratios: machines
// drift, so that only figures of one turn may be compared.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
)

// system is one thing that is measured: it returns jobs (or commands) per second.
type system struct {
	name string
	run  func(ctx context.Context) (figures, error)
}

// figures are what one run of a system found.
type figures struct {
	JobsPerS    float64 `json:"jobs_per_s"`
	RedisMicros float64 `json:"redis_us_per_job,omitempty"`
	ScriptCalls float64 `json:"script_calls_per_job,omitempty"`
	IdleP50     float64 `json:"idle_submit_to_claimed_p50_us,omitempty"`
}

func main() {
	drover := flag.String("drover", "drover", "the drover program")
	cycles := flag.Int("cycles", 5, "turns of all systems")
	jobs := flag.Int("jobs", 50_000, "jobs of one run; the slow ones get fewer")
	bullmq := flag.String("bullmq", "", "folder of bench.js with its node_modules; empty leaves BullMQ out")
	asJSON := flag.Bool("json", false, "print JSON")
	flag.Parse()
	if *cycles < 1 || *jobs < leastJobs || flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "peers: -cycles must be at least 1 and -jobs at least %d, and nothing stands behind the flags\n", leastJobs)
		os.Exit(2)
	}
	if err := compare(context.Background(), systems(*drover, *jobs, *bullmq), *cycles, *asJSON); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// leastJobs is how many a run has at least: the slowest systems get a fifth of them.
const leastJobs = 5

func systems(drover string, jobs int, bullmq string) []system {
	all := []system{
		{"drover, 100 slots", droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs))},
		{"drover, 100 slots, 500 owners beside", droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs), "--owners", "500")},
		{"drover, 100 slots, 10,000 submitters", droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs), "--submitters", "10000")},
		{"drover, 1,000 slots", droverBench(drover, "--slots", "1000", "--jobs", fmt.Sprint(jobs))},
		{"drover, 10 slots", droverBench(drover, "--slots", "10", "--jobs", fmt.Sprint(jobs))},
		{"drover, 1 slot", droverBench(drover, "--slots", "1", "--jobs", fmt.Sprint(jobs/5))},
		{"drover, 100 slots, AOF everysec", droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs), "--aof", "everysec")},
		{"asynq, c=1", asynqBench(1, 1, jobs/5)},
		{asynqC10, asynqBench(1, 10, jobs/2)},
		{"asynq, 10 servers of c=10", asynqBench(10, 10, jobs)},
		{"redis-benchmark, 8 calls a script, c=50 P=32", rawBench(50, 32, 4*jobs)},
		{"redis-benchmark, 8 calls a script, c=50 P=1", rawBench(50, 1, 4*jobs)},
	}
	if bullmq != "" {
		all = append(all, system{bullC100, bullmqBench(bullmq, 100, jobs)})
	}
	return all
}

// The systems that ratios are taken to.
const (
	asynqC10 = "asynq, c=10"
	bullC100 = "BullMQ, c=100"
)

func compare(ctx context.Context, all []system, cycles int, asJSON bool) error {
	found := make(map[string][]figures)
	for cycle := range cycles {
		for _, s := range all {
			f, err := s.run(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			found[s.name] = append(found[s.name], f)
			fmt.Fprintf(os.Stderr, "cycle %d of %d  %-45s %9.0f /s\n", cycle+1, cycles, s.name, f.JobsPerS)
		}
	}
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(found)
	}
	t := table.NewWriter()
	t.AppendHeader(table.Row{"system", "jobs/s min", "median", "max", "× " + asynqC10, "worst", "× " + bullC100, "worst", "Redis µs/job", "scripts/job", "idle p50 µs"})
	for _, s := range all {
		runs := found[s.name]
		rate := column(runs, func(f figures) float64 { return f.JobsPerS })
		row := table.Row{s.name, whole(rate[0]), whole(median(rate)), whole(rate[len(rate)-1])}
		for _, rival := range []string{asynqC10, bullC100} {
			row = append(row, ratios(runs, found[rival])...)
		}
		row = append(row,
			digits(median(column(runs, func(f figures) float64 { return f.RedisMicros })), "%.2f"),
			digits(median(column(runs, func(f figures) float64 { return f.ScriptCalls })), "%.3f"),
			digits(median(column(runs, func(f figures) float64 { return f.IdleP50 })), "%.0f"))
		t.AppendRow(row)
	}
	fmt.Println(t.RenderMarkdown())
	return nil
}

func column(runs []figures, of func(figures) float64) []float64 {
	out := make([]float64, len(runs))
	for i, f := range runs {
		out[i] = of(f)
	}
	slices.Sort(out)
	return out
}

// ratios pairs the runs of one turn: the median and the worst.
func ratios(runs, rival []figures) []any {
	if len(rival) == 0 {
		return []any{"", ""}
	}
	var r []float64
	for i := range runs {
		r = append(r, runs[i].JobsPerS/rival[i].JobsPerS)
	}
	slices.Sort(r)
	return []any{fmt.Sprintf("%.2f", median(r)), fmt.Sprintf("%.2f", r[0])}
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

func digits(v float64, format string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}
