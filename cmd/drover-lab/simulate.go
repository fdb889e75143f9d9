package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/simulate"
)

// simulateCommand replays a trace in virtual time.
func simulateCommand() *cli.Command {
	var names []string
	for _, e := range simulate.Examples() {
		names = append(names, e.Name)
	}
	return &cli.Command{
		Name: "simulate", Usage: "replay a day of submissions in virtual time: what would people wait, what would VMs cost", ArgsUsage: "TRACE",
		Description: "TRACE is one of " + strings.Join(names, ", ") + ", a file, or - for standard input. A line of a file is\n" +
			`{"at_ms": 1500, "pool": "default", "priority": "normal", "submitter": "ann", "run_ms": 3000, "due_ms": 60000}` +
			"\nwith times since the trace began, and priority and due_ms only if there are any.",
		OnUsageError: terminal.UsageError, Action: runSimulate,
		Flags: terminal.WithSettings(slices.Concat(simulatedCluster(), simulatedGroup(), []cli.Flag{
			&cli.BoolFlag{Name: "list", Usage: "list the traces that have names"},
			&cli.BoolFlag{Name: "print", Usage: "print the trace instead of replaying it"},
			&cli.BoolFlag{Name: "compare", Usage: "replay it twice: with --warm VMs kept on each host, and with as many as arrivals ask for"},
			&cli.StringFlag{Name: "svg", Usage: "draw charts over time into `FILE`"},
			&cli.BoolFlag{Name: "from-history", Usage: "replay what the cluster itself ran, on its own hosts and pools unless flags say otherwise"},
			&cli.DurationFlag{Name: "since", Value: 24 * time.Hour, Usage: "replay what ended since `TIME` ago, with --from-history"},
			terminal.JSONFlag(),
		})),
	}
}

// simulatedCluster are the flags of the cluster that is simulated.
func simulatedCluster() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "hosts", Value: 4, Usage: "hosts, all alike"},
		&cli.IntFlag{Name: "cpus", Value: 8, Usage: "processors of each host"},
		&cli.StringFlag{Name: "memory", Value: "16GiB", Usage: "memory of each host for VMs"},
		&cli.IntFlag{Name: "slots", Usage: "requests that each host runs at once; 0: one for each processor"},
		&cli.DurationFlag{Name: "vm-time", Value: 2 * time.Second, Usage: "time to make a VM"},
		&cli.StringFlag{Name: "vm-memory", Usage: "memory of each VM, such as `256MiB`"},
		&cli.IntFlag{Name: "warm", Value: 2, Usage: "clean VMs that each pool keeps on each host"},
		&cli.IntFlag{Name: "warm-total", Usage: "clean VMs that each pool keeps in the whole cluster"},
		&cli.IntFlag{Name: "warm-most", Aliases: []string{"learn"}, Usage: "keep up to so many clean VMs in the whole cluster as arrivals ask for"},
		&cli.IntFlag{Name: "max", Value: 8, Usage: "most VMs of each pool on each host"},
		&cli.IntFlag{Name: "spread", Usage: "hosts over which each pool's VMs are spread"},
		&cli.StringFlag{Name: "strategy", Usage: "on which hosts VMs are made: worst-fit, best-fit, first-fit, next-fit"},
		&cli.StringFlag{Name: "order", Usage: "which pool gets VMs first where not all fit: fifo, maxmin, minmin"},
	}
}

func runSimulate(c *cli.Context) error {
	if c.Bool("list") {
		return listTraces(c)
	}
	name, trace, s, err := traceAndSettings(c)
	if err != nil {
		return err
	}
	if c.Bool("print") {
		return trace.Write(c.App.Writer)
	}
	if c.String("goals") != "" {
		return tuneGoal(c, name, trace, s)
	}
	runs := []simulate.Named{{Name: "as set"}}
	settings := []simulate.Settings{s}
	if c.Bool("compare") {
		most := 0
		for _, p := range s.Pools {
			most = max(most, p.Max)
		}
		most = min(core.MaxWarmTotal, cmp.Or(c.Int("warm-most"), most*len(s.Hosts)))
		runs = []simulate.Named{{Name: fmt.Sprintf("fixed, %d on each host", c.Int("warm"))}, {Name: fmt.Sprintf("learning, up to %d", most)}}
		settings = []simulate.Settings{s.Fixed(c.Int("warm")), s.Learning(most)}
	}
	for i := range runs {
		if runs[i].Report, err = simulate.Run(trace, settings[i]); err != nil {
			return err
		}
	}
	if file := c.String("svg"); file != "" {
		if err := drawSVG(file, name, runs); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"trace": name, "runs": runs})
	}
	return printSimulation(c.App.Writer, runs)
}

func listTraces(c *cli.Context) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	type listed struct {
		Name     string `json:"name"`
		About    string `json:"about"`
		Requests int    `json:"requests"`
	}
	var all []listed
	var rows []table.Row
	for _, e := range simulate.Examples() {
		one := listed{e.Name, e.About, len(e.Trace())}
		all, rows = append(all, one), append(rows, table.Row{one.Name, one.Requests, one.About})
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, all)
	}
	return terminal.PrintTable(c.App.Writer, "", table.Row{"trace", "requests", ""}, rows)
}

// traceAndSettings returns what is replayed, its name, and on what.
func traceAndSettings(c *cli.Context) (name string, t simulate.Trace, s simulate.Settings, err error) {
	if c.Bool("from-history") {
		if err := terminal.NoArgs(c); err != nil {
			return "", nil, s, err
		}
		name = "the last " + c.Duration("since").String()
		err = access.WithCluster(func(c *cli.Context, h *access.Cluster) error {
			var err error
			t, s, err = fromHistory(c, h)
			return err
		})(c)
	} else {
		if name, err = terminal.OneArg(c, "trace: a name that --list shows, a file, or -"); err != nil {
			return "", nil, s, err
		}
		t, err = readTrace(c, name)
		for _, pool := range t.Pools() {
			s.Pools = append(s.Pools, core.DefaultPool(pool))
		}
	}
	if err != nil {
		return "", nil, s, err
	}
	return name, t, s, applySimulated(c, &s)
}

func readTrace(c *cli.Context, name string) (simulate.Trace, error) {
	for _, e := range simulate.Examples() {
		if e.Name == name {
			return e.Trace(), nil
		}
	}
	if name == "-" {
		return simulate.Read(c.App.Reader)
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, core.Errorf(core.CodeNotFound, name, "there is no file %s, and no trace of that name: drover-lab simulate --list lists them", name)
	}
	if err != nil {
		return nil, err
	}
	t, err := simulate.Read(file)
	return t, errors.Join(err, file.Close())
}

// simulatedSize is the size of each host; its disk is not known.
func simulatedSize(c *cli.Context) (core.Size, error) {
	size := core.Size{CPU: int64(c.Int("cpus")) * 1000}
	err := terminal.ReadSize("memory", c.String("memory"), &size.Memory)
	return size, err
}

// applySimulated changes settings as flags say. What has no hosts yet gets those of the flags.
func applySimulated(c *cli.Context, s *simulate.Settings) error {
	history := len(s.Hosts) > 0
	isSet := func(name string) bool { return c.IsSet(name) || !history }
	if isSet("vm-time") {
		s.Makes = nil
	}
	s.VMTime = c.Duration("vm-time")
	if isSet("hosts") || isSet("cpus") || isSet("memory") {
		size, err := simulatedSize(c)
		if err != nil {
			return err
		}
		size.Disk = core.Unlimited
		n, slots := c.Int("hosts"), cmp.Or(c.Int("slots"), c.Int("cpus"))
		if n < 1 && c.String("goals") == "" || n < 0 || n > simulate.MaxHosts || size.CPU < 1000 {
			return core.Errorf(core.CodeInvalid, "hosts", "between 1 and %d hosts can be simulated, each with a processor at least", simulate.MaxHosts)
		}
		s.Hosts = simulate.Hosts(n, size, slots)
	} else if c.IsSet("slots") {
		for i := range s.Hosts {
			s.Hosts[i].Slots = c.Int("slots")
		}
	}
	for i := range s.Pools {
		p := &s.Pools[i]
		if err := terminal.SizeFlag(c, "vm-memory", &p.Limits.Memory); err != nil {
			return err
		}
		for name, into := range map[string]*int{"warm": &p.Warm, "warm-total": &p.WarmTotal, "warm-most": &p.WarmMost, "max": &p.Max, "spread": &p.Spread} {
			if isSet(name) {
				*into = c.Int(name)
			}
		}
		// A cluster that learns keeps nothing else, unless it was told to.
		if c.IsSet("warm-most") && !c.IsSet("warm") || c.IsSet("warm-total") && !c.IsSet("warm") {
			p.Warm = 0
		}
		for name, into := range map[string]*string{"strategy": (*string)(&p.Strategy), "order": (*string)(&p.Order)} {
			if isSet(name) {
				*into = c.String(name)
			}
		}
	}
	return nil
}

// fromHistory returns what the cluster ran, and its own hosts and pools.
func fromHistory(c *cli.Context, h *access.Cluster) (t simulate.Trace, s simulate.Settings, err error) {
	if s, err = clusterAsSet(c, h); err != nil {
		return nil, s, err
	}
	known := make(map[string]bool)
	for _, p := range s.Pools {
		known[p.Name] = true
	}
	var ended []core.Ended
	left, now := 0, h.Now().UnixMilli()
	err = h.Store.Ended(c.Context, now-c.Duration("since").Milliseconds(), now, func(e core.Ended) error {
		switch {
		case !known[e.Pool]:
			left++
		case len(ended) <= simulate.MaxRequests:
			ended = append(ended, e)
		}
		return nil
	})
	if err != nil {
		return nil, s, err
	}
	if left > 0 {
		if _, err := fmt.Fprintf(c.App.ErrWriter, "%d requests of pools that are gone are left out\n", left); err != nil {
			return nil, s, err
		}
	}
	t, err = simulate.OfHistory(ended)
	return t, s, err
}

// clusterAsSet returns the hosts and pools of the cluster.
func clusterAsSet(c *cli.Context, h *access.Cluster) (s simulate.Settings, err error) {
	hosts, err := h.Redis.ListHosts(c.Context)
	if err != nil {
		return s, err
	}
	pools, err := h.Redis.ListPools(c.Context)
	if err != nil {
		return s, err
	}
	return simulate.OfCluster(hosts, pools, 0), nil
}

func drawSVG(file, title string, runs []simulate.Named) error {
	to, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(simulate.SVG(to, "Simulation of "+title, runs), to.Close())
}

// printSimulation prints runs beside one another, then the waits of parts of the requests in each.
func printSimulation(w io.Writer, runs []simulate.Named) error {
	header := table.Row{""}
	var rows []table.Row
	for _, r := range runs {
		header = append(header, r.Name)
	}
	for _, line := range simulationLines() {
		row := table.Row{line.title}
		for i := range runs {
			row = append(row, line.text(&runs[i].Report))
		}
		rows = append(rows, row)
	}
	if err := terminal.PrintTable(w, "", header, rows); err != nil {
		return err
	}
	for i := range runs {
		rows = nil
		for _, by := range []struct {
			what string
			rows []simulate.Row
		}{{"pool", runs[i].ByPool}, {"priority", runs[i].ByPriority}, {"who sent", runs[i].BySubmitter}} {
			for _, r := range by.rows {
				rows = append(rows, table.Row{by.what, r.Value, r.Requests, r.Cold, terminal.Rounded(r.Wait.P50), terminal.Rounded(r.Wait.P95), terminal.Rounded(r.Wait.P99), terminal.Rounded(r.Wait.Most)})
			}
		}
		if _, err := fmt.Fprintf(w, "\nwaits, %s\n", runs[i].Name); err != nil {
			return err
		}
		if err := terminal.PrintTable(w, "", table.Row{"of", "", "requests", "cold starts", "wait p50", "p95", "p99", "longest"}, rows); err != nil {
			return err
		}
	}
	return nil
}

type simulationLine struct {
	title string
	text  func(r *simulate.Report) string
}

func simulationLines() []simulationLine {
	number := func(of func(r *simulate.Report) int) func(*simulate.Report) string {
		return func(r *simulate.Report) string { return fmt.Sprint(of(r)) }
	}
	share := func(of func(r *simulate.Report) float64) func(*simulate.Report) string {
		return func(r *simulate.Report) string { return fmt.Sprintf("%.1f %%", 100*of(r)) }
	}
	hours := func(of func(r *simulate.Report) float64) func(*simulate.Report) string {
		return func(r *simulate.Report) string { return fmt.Sprintf("%.1f", of(r)) }
	}
	span := func(of func(r *simulate.Report) int64) func(*simulate.Report) string {
		return func(r *simulate.Report) string { return terminal.Rounded(of(r)) }
	}
	return []simulationLine{
		{"requests", number(func(r *simulate.Report) int { return r.Requests })},
		{"hosts", number(func(r *simulate.Report) int { return r.Hosts })},
		{"lasts", span(func(r *simulate.Report) int64 { return r.Lasts })},
		{"found a clean VM at once", share(func(r *simulate.Report) float64 { return r.HitRate })},
		{"cold starts", number(func(r *simulate.Report) int { return r.Cold })},
		{"wait p50", span(func(r *simulate.Report) int64 { return r.Wait.P50 })},
		{"wait p95", span(func(r *simulate.Report) int64 { return r.Wait.P95 })},
		{"wait p99", span(func(r *simulate.Report) int64 { return r.Wait.P99 })},
		{"longest wait", span(func(r *simulate.Report) int64 { return r.Wait.Most })},
		{"ended after they were due", number(func(r *simulate.Report) int { return r.Late })},
		{"VMs made", number(func(r *simulate.Report) int { return r.Made })},
		{"VM-hours warm", hours(func(r *simulate.Report) float64 { return r.Warm })},
		{"VM-hours in the making", hours(func(r *simulate.Report) float64 { return r.Making })},
		{"VM-hours busy", hours(func(r *simulate.Report) float64 { return r.Busy })},
		{"VMs used, of their time", share(func(r *simulate.Report) float64 { return r.VMsUsed })},
		{"slots used", share(func(r *simulate.Report) float64 { return r.SlotsUsed })},
		{"memory taken by VMs", share(func(r *simulate.Report) float64 { return r.RoomUsed })},
		{"submitters", number(func(r *simulate.Report) int { return r.Fairness.Submitters })},
		{"fairness (Jain's index)", func(r *simulate.Report) string { return fmt.Sprintf("%.3f", r.Fairness.Jain) }},
		{"p95 wait of the worst off submitter", span(func(r *simulate.Report) int64 { return r.Fairness.Worst })},
		{"p95 wait of the middle one", span(func(r *simulate.Report) int64 { return r.Fairness.Median })},
	}
}
