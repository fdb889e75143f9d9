// Command peers runs drover and its rivals in turns on one machine and prints paired ratios: machines drift, so only
// figures of one turn may be compared. Without -real it measures the queue, each system on a redis-server of its own
// over a unix socket; with -real whole jobs, each in the isolation that the table names.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/jedib0t/go-pretty/v6/table"

	"drover/scripts/bench/ratios"
)

// system is one thing that is measured: it returns jobs (or commands) per second.
type system struct {
	name      string
	isolation string            // of each job; of whole jobs only
	rivals    map[string]string // header of a column → the system that its ratios are taken to
	run       func(ctx context.Context) (figures, error)
}

// figures are what one run of a system found.
type figures struct {
	JobsPerS    float64 `json:"jobs_per_s"`
	RedisMicros float64 `json:"redis_us_per_job,omitempty"`
	ScriptCalls float64 `json:"script_calls_per_job,omitempty"`
	IdleP50     float64 `json:"idle_submit_to_claimed_p50_us,omitempty"`
	CPUMillis   float64 `json:"processor_ms_per_job,omitempty"`
}

// comparison is a table of systems.
type comparison struct {
	systems []system
	rivals  []string // headers of the columns of ratios
	last    []extra
}

// extra is a column of figures that some systems have.
type extra struct {
	title, format string
	of            func(figures) float64
}

func main() {
	lab := flag.String("lab", "drover-lab", "the program drover-lab")
	cycles := flag.Int("cycles", 5, "turns of all systems")
	jobs := flag.Int("jobs", 0, "jobs of one run; the slow ones of queues get fewer (default 50000 of a queue, 300 real ones)")
	bullmq := flag.String("bullmq", "", "folder of bench.js with its node_modules; empty leaves BullMQ out")
	real := flag.Bool("real", false, "measure whole jobs instead of the queue")
	judge := flag.String("judge", "", "the go-judge program; empty leaves it out")
	asJSON := flag.Bool("json", false, "print JSON")
	check := flag.String("check", "", "a document with earlier tables: name the ratios that fell by a fifth, and exit with 1 if there are any")
	flag.Parse()
	if *jobs == 0 {
		*jobs = map[bool]int{false: 50_000, true: 300}[*real]
	}
	if *cycles < 1 || *jobs < leastJobs || flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "peers: -cycles must be at least 1 and -jobs at least %d, and nothing stands behind the flags\n", leastJobs)
		os.Exit(2)
	}
	all := queues(*lab, *jobs, *bullmq)
	if *real {
		all = wholeJobs(*lab, *jobs, *judge)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	found, err := all.measure(ctx, *cycles)
	stop()
	if err == nil && *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(found)
	} else if err == nil {
		fmt.Println(all.table(found))
	}
	if err == nil && *check != "" {
		err = compareWith(*check, all.table(found), os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// compareWith names the ratios of a table that fell by a fifth since those of a document.
func compareWith(path, table string, to io.Writer) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	now := ratios.Of(table)
	was := ratios.Of(string(text))
	for key := range was { // the document has tables of other comparisons
		if !slices.ContainsFunc(headersOf(now), func(of string) bool { return of == key.Of }) {
			delete(was, key)
		}
	}
	fallen, compared, missing := ratios.Fallen(was, now)
	for _, key := range missing {
		fmt.Fprintf(to, "not compared: %s to %s: it is not in both %s and this run\n", key.System, key.Of, path)
	}
	for _, f := range fallen {
		fmt.Fprintf(to, "fell: %s to %s: %.2f, was %.2f\n", f.System, f.Of, f.Now, f.Was)
	}
	fmt.Fprintf(to, "%d ratios compared with %s, %d fell by a fifth or more\n", compared, path, len(fallen))
	switch {
	case len(fallen) > 0:
		return fmt.Errorf("%d ratios fell by a fifth or more", len(fallen))
	case compared == 0:
		return errors.New("there was nothing to compare")
	}
	return nil
}

func headersOf(found map[ratios.Key]float64) (all []string) {
	for key := range found {
		all = append(all, key.Of)
	}
	return all
}

// leastJobs is how many a run has at least: the slowest systems get a fifth of them.
const leastJobs = 5

func queues(drover string, jobs int, bullmq string) comparison {
	all := []system{
		{name: "drover, 100 slots", run: droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs))},
		{name: "drover, 100 slots, 500 owners beside", run: droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs), "--owners", "500")},
		{name: "drover, 100 slots, 10,000 submitters", run: droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs), "--submitters", "10000")},
		{name: "drover, 1,000 slots", run: droverBench(drover, "--slots", "1000", "--jobs", fmt.Sprint(jobs))},
		{name: "drover, 10 slots", run: droverBench(drover, "--slots", "10", "--jobs", fmt.Sprint(jobs))},
		{name: "drover, 1 slot", run: droverBench(drover, "--slots", "1", "--jobs", fmt.Sprint(jobs/5))},
		{name: "drover, 100 slots, AOF everysec", run: droverBench(drover, "--slots", "100", "--jobs", fmt.Sprint(jobs), "--aof", "everysec")},
		{name: "asynq, c=1", run: asynqBench(1, 1, jobs/5)},
		{name: asynqC10, run: asynqBench(1, 10, jobs/2)},
		{name: "asynq, 10 servers of c=10", run: asynqBench(10, 10, jobs)},
		{name: "redis-benchmark, 8 calls a script, c=50 P=32", run: rawBench(50, 32, 4*jobs)},
		{name: "redis-benchmark, 8 calls a script, c=50 P=1", run: rawBench(50, 1, 4*jobs)},
	}
	if bullmq != "" {
		all = append(all, system{name: bullC100, run: bullmqBench(bullmq, 100, jobs)})
	}
	c := comparison{systems: all, rivals: []string{asynqC10, bullC100}, last: []extra{
		{"Redis µs/job", "%.2f", func(f figures) float64 { return f.RedisMicros }},
		{"scripts/job", "%.3f", func(f figures) float64 { return f.ScriptCalls }},
		{"idle p50 µs", "%.0f", func(f figures) float64 { return f.IdleP50 }},
	}}
	for i := range c.systems {
		c.systems[i].rivals = map[string]string{asynqC10: asynqC10, bullC100: bullC100}
	}
	return c
}

// The systems that ratios are taken to.
const (
	asynqC10 = "asynq, c=10"
	bullC100 = "BullMQ, c=100"
)

// measure runs all systems in turns.
func (c comparison) measure(ctx context.Context, cycles int) (map[string][]figures, error) {
	found := make(map[string][]figures)
	for cycle := range cycles {
		for _, s := range c.systems {
			f, err := s.run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			found[s.name] = append(found[s.name], f)
			fmt.Fprintf(os.Stderr, "cycle %d of %d  %-45s %9.0f /s\n", cycle+1, cycles, s.name, f.JobsPerS)
		}
	}
	return found, nil
}

// table is what was found, as Markdown.
func (c comparison) table(found map[string][]figures) string {
	t := table.NewWriter()
	head := table.Row{"system", "jobs/s min", "median", "max"}
	for _, rival := range c.rivals {
		head = append(head, "× "+rival, "worst")
	}
	for _, x := range c.last {
		head = append(head, x.title)
	}
	isolated := slices.ContainsFunc(c.systems, func(s system) bool { return s.isolation != "" })
	if isolated {
		head = append(head, "isolation of each job")
	}
	t.AppendHeader(head)
	for _, s := range c.systems {
		runs := found[s.name]
		rate := column(runs, func(f figures) float64 { return f.JobsPerS })
		row := table.Row{s.name, whole(rate[0]), whole(median(rate)), whole(rate[len(rate)-1])}
		for _, rival := range c.rivals {
			row = append(row, ratiosOf(runs, found[s.rivals[rival]])...)
		}
		for _, x := range c.last {
			row = append(row, digits(median(column(runs, x.of)), x.format))
		}
		if isolated {
			row = append(row, s.isolation)
		}
		t.AppendRow(row)
	}
	return t.RenderMarkdown()
}

func column(runs []figures, of func(figures) float64) []float64 {
	out := make([]float64, len(runs))
	for i, f := range runs {
		out[i] = of(f)
	}
	slices.Sort(out)
	return out
}

// ratiosOf pairs the runs of one turn: the median and the worst.
func ratiosOf(runs, rival []figures) []any {
	if len(rival) == 0 {
		return []any{"", ""}
	}
	var r []float64
	for i := range runs {
		r = append(r, runs[i].JobsPerS/rival[i].JobsPerS)
	}
	slices.Sort(r)
	return []any{ratio(median(r)), ratio(r[0])}
}

func ratio(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median(sorted []float64) float64 { return sorted[len(sorted)/2] }

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

func digits(v float64, format string) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}
