package operator

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// PoolCommand is drover pool.
func PoolCommand() *cli.Command {
	return &cli.Command{
		Name: "pool", Usage: "list, create, change and delete pools", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.ClusterCommand("list", "list pools, their VMs and what waits for them", "", nil, listPools),
			access.ClusterCommand("show", "show all settings of a pool", "POOL", nil, showPool),
			access.ClusterCommand("hits", "show which part of a pool's claims met a clean VM, and what it would have been with fixed numbers of warm VMs", "POOL", []cli.Flag{
				&cli.DurationFlag{Name: "since", Value: lastDay, Usage: "begin `TIME` ago"},
			}, showHits),
			access.ClusterCommand("set", "create a pool, or change its named settings", "POOL", poolFlags(), setPool),
			access.ClusterCommand("delete", "remove a pool that no request or assignment uses; its VMs are destroyed", "POOL", nil, deletePool),
		},
	}
}

func poolFlags() []cli.Flag {
	return slices.Concat(terminal.LimitFlags(), []cli.Flag{
		&cli.StringFlag{Name: "provider", Usage: "what makes its VMs: `PROVIDER` " + strings.Join(core.ProviderNames(), " or ")},
		&cli.StringFlag{Name: "image", Usage: "what its VMs are made of: `NAME` or NAME@DIGEST of drover image list; empty is the provider's own"},
		&cli.StringFlag{Name: "requires", Usage: "labels of the hosts that make its VMs: `LABELS` such as gpu=yes,zone=a; empty is any host"},
		&cli.IntFlag{Name: "warm", Usage: "clean VMs kept ready on each host"},
		&cli.IntFlag{Name: "max", Usage: "most VMs on each host"},
		&cli.BoolFlag{Name: "paused", Usage: "start no requests of the pool (--paused=false resumes)"},
		&cli.Float64Flag{Name: "cpu", Usage: "processors that each VM may use, such as 1 or 0.5; 0 leaves it to the provider"},
		&cli.StringFlag{Name: "network", Usage: "what its VMs can reach: `NETWORK` none or egress"},
		&cli.BoolFlag{Name: "peer", Usage: "give each VM a peer, a second one for the trusted part of a request, an interactor or a harness: twice the memory (--peer=false ends it)"},
		&cli.BoolFlag{Name: "quiet", Usage: "give each VM processor cores of its own on hosts that have 3 or more, and leave one core free (--quiet=false ends it)"},
		&cli.BoolFlag{Name: "unboxed", Usage: "grade by harnesses that start submissions without drover-run, which can forge their reports (--unboxed=false ends it)"},
		&cli.DurationFlag{Name: "max-wait", Usage: "how long a request may wait before it ends timed_out; 0: forever"},
		&cli.DurationFlag{Name: "broken-for", Usage: "how long its VMs may be impossible to make on all its hosts before waiting requests end failed, such as 30m; 0: they wait on"},
		&cli.IntFlag{Name: "max-waiting-each", Usage: "most waiting requests of one submitter and priority"},
		&cli.IntFlag{Name: "running-each", Usage: "most requests of one submitter and priority that run at once; 0 is any number"},
		&cli.DurationFlag{Name: "stage-timeout", Usage: "most time from claim to the start of the command"},
		&cli.IntFlag{Name: "warm-total", Usage: "clean VMs to keep in the whole cluster, those of --warm included"},
		&cli.IntFlag{Name: "warm-most", Usage: "keep up to so many in the whole cluster as its use asks for; 0 is none for that"},
		&cli.IntFlag{Name: "spread", Usage: "hosts to spread its VMs over, if there are as many"},
		&cli.StringFlag{Name: "strategy", Usage: "which host gets its next VM: worst-fit (the one with the most room), best-fit, first-fit or next-fit"},
		&cli.StringFlag{Name: "order", Usage: "which pool gets a VM first where not all fit: fifo (whose request waits longest), maxmin (the largest, before them) or minmin (the smallest, behind them)"},
		&cli.DurationFlag{Name: "idle-after", Usage: "keep nothing warm while nobody used the pool for so long, such as 30m; 0 keeps VMs warm always"},
		&cli.DurationFlag{Name: "keep-outputs", Usage: "how long a result keeps its stdout, stderr and files, such as 168h; scores and tests stay; 0 is as long as itself"},
		&cli.StringFlag{Name: "on-host-loss", Usage: "what to do with requests of a lost host: `POLICY`; requeue runs them elsewhere, fail never runs one twice"},
	})
}

func deletePool(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "pool's name")
	if err != nil {
		return err
	}
	if err := h.Operate().RemovePool(c.Context, access.Operator(), name); err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"pool": name, "gone": true}, "pool %s is deleted", name)
}

func setPool(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "pool's name")
	if err != nil {
		return err
	}
	p, err := h.Redis.GetPool(c.Context, name)
	if core.Is(err, core.CodeNotFound) {
		p, err = core.DefaultPool(name), nil
	}
	if err != nil {
		return err
	}
	if err := applyPoolFlags(c, &p); err != nil {
		return err
	}
	if p.Image, err = wholeRef(c.Context, h, p.Image); err != nil {
		return err
	}
	if err := h.Operate().SetPool(c.Context, access.Operator(), p); err != nil {
		return err
	}
	if err := sayIfImageIsMissing(c, h, p); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, p)
	}
	_, err = fmt.Fprintf(c.App.Writer, "pool %s is set; drover pool show %s shows it\n", name, name)
	return err
}

func applyPoolFlags(c *cli.Context, p *core.Pool) error {
	for name, into := range map[string]*string{"provider": &p.Provider, "image": &p.Image, "network": &p.Network, "on-host-loss": &p.OnHostLoss, "requires": &p.Requires, "strategy": (*string)(&p.Strategy), "order": (*string)(&p.Order)} {
		if c.IsSet(name) {
			*into = c.String(name)
		}
	}
	if c.IsSet("provider") {
		if err := core.CheckProvider(p.Provider); err != nil {
			return err
		}
	}
	for name, into := range map[string]*int{
		"warm": &p.Warm, "warm-total": &p.WarmTotal, "warm-most": &p.WarmMost, "spread": &p.Spread, "max": &p.Max, "max-waiting-each": &p.MaxWaiting, "running-each": &p.Running,
	} {
		if c.IsSet(name) {
			*into = c.Int(name)
		}
	}
	if err := terminal.ApplyLimitFlags(c, &p.Limits); err != nil {
		return err
	}
	if c.IsSet("cpu") {
		cpu := c.Float64("cpu") * 1000
		if math.IsNaN(cpu) || cpu < 0 || cpu > core.MaxCPU || cpu > 0 && cpu < core.MinCPU {
			return core.Errorf(core.CodeInvalid, "cpu", "--cpu %g must be 0, or between %g and %d processors", cpu/1000, core.MinCPU/1000.0, core.MaxCPU/1000)
		}
		p.Limits.CPU = int(math.Round(cpu))
	}
	for name, into := range map[string]*bool{"paused": &p.Paused, "peer": &p.Peer, "quiet": &p.Quiet, "unboxed": &p.Unboxed} {
		if c.IsSet(name) {
			*into = c.Bool(name)
		}
	}
	for name, into := range map[string]*time.Duration{
		"max-wait": &p.MaxWait, "broken-for": &p.BrokenFor, "stage-timeout": &p.StageTimeout, "keep-outputs": &p.KeepOutputs, "idle-after": &p.IdleAfter,
	} {
		if c.IsSet(name) {
			*into = c.Duration(name)
		}
	}
	return nil
}

func listPools(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	pools, err := h.Redis.ListPools(c.Context)
	if err != nil {
		return err
	}
	waiting, err := h.Redis.Waiting(c.Context)
	if err != nil {
		return err
	}
	vms, err := h.Redis.ListVMs(c.Context, "")
	if err != nil {
		return err
	}
	type poolView struct {
		core.Pool
		Waiting map[core.Priority]int `json:"waiting"`
		VMs     map[string]int        `json:"vms"`
	}
	views := make([]poolView, len(pools))
	for i, p := range pools {
		views[i] = poolView{Pool: p, Waiting: map[core.Priority]int{}, VMs: map[string]int{}}
		for _, q := range waiting {
			if q.Pool == p.Name {
				views[i].Waiting[q.Priority] = q.Waiting
			}
		}
		for _, vm := range vms {
			if vm.Pool == p.Name {
				views[i].VMs[string(vm.State)]++
			}
		}
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, views)
	}
	rows := make([]table.Row, len(views))
	for i, v := range views {
		rows[i] = table.Row{
			v.Name, v.Provider, fmt.Sprintf("%d of at most %d", v.Warm, v.Max), terminal.PausedWord(v.Paused),
			v.Waiting[core.PriorityHigh], v.Waiting[core.PriorityNormal], v.Waiting[core.PriorityLow],
			Counts(v.VMs), reservedFor(v.Pool),
		}
	}
	return terminal.PrintTable(c.App.Writer, "no pools: make one with drover pool set NAME",
		table.Row{"pool", "provider", "warm per host", "", "high", "normal", "low waiting", "vms", "reserved"}, rows)
}

// reservedFor says of which pool and lease a lease's pool is; "" of any other.
func reservedFor(p core.Pool) string {
	if p.Lease == "" {
		return ""
	}
	return terminal.Clean(fmt.Sprintf("%s for lease %s, %s", p.Of, p.LeaseName, p.Lease))
}

// span is a length of time, for people; zero says what 0 means.
func span(d time.Duration, zero string) string {
	if d == 0 {
		return zero
	}
	return d.String()
}

// upTo is a bound, for people.
func upTo(n int) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprintf("up to %d", n)
}

// anyNumber is a bound, for people.
func anyNumber(n int) string {
	if n == 0 {
		return "any number"
	}
	return strconv.Itoa(n)
}

// processors are thousandths of a processor, for people.
func processors(cpu int) string {
	if cpu == 0 {
		return "the provider's own"
	}
	return strconv.FormatFloat(float64(cpu)/1000, 'g', -1, 64)
}

func showPool(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "pool's name")
	if err != nil {
		return err
	}
	p, err := h.Redis.GetPool(c.Context, name)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, p)
	}
	image, err := imageOf(c.Context, h, p)
	if err != nil {
		return err
	}
	hosts, err := h.Redis.ListHosts(c.Context)
	if err != nil {
		return err
	}
	outages, err := h.Redis.Outages(c.Context)
	if err != nil {
		return err
	}
	hits, err := hitsOf(c, h, name, lastDay, false)
	if err != nil {
		return err
	}
	rows := append(poolRows(p, image), table.Row{"claims that met a VM, last day", hits.Met()})
	return terminal.PrintTable(c.App.Writer, "", table.Row{"setting", "value"}, append(rows, brokenRows(p, hosts, outages)...))
}

// poolRows are the settings of a pool.
func poolRows(p core.Pool, image string) []table.Row {
	l := p.Limits
	rows := []table.Row{{"pool", p.Name}}
	if p.Lease != "" {
		rows = append(rows, table.Row{"reserves VMs of pool", p.Of}, table.Row{"for lease", terminal.Clean(p.LeaseName) + ", " + p.Lease})
	}
	return append(rows, []table.Row{
		{"provider", p.Provider},
		{"image", image},
		{"warm", p.Warm},
		{"warm in all", p.WarmTotal},
		{"warm as used", upTo(p.WarmMost)},
		{"warm until idle for", span(p.IdleAfter, "ever")},
		{"max", p.Max},
		{"spread over hosts", max(p.Spread, 1)},
		{"strategy", cmp.Or(p.Strategy, core.Strategies()[0])},
		{"order", cmp.Or(p.Order, core.PlacementOrders()[0])},
		{"paused", p.Paused},
		{"timeout", l.Timeout},
		{"network", cmp.Or(p.Network, core.NetworkNone)},
		{"peer", p.Peer},
		{"quiet", p.Quiet},
		{"unboxed", p.Unboxed},
		{"cpu", processors(l.CPU)},
		{"memory", terminal.Size(l.Memory)},
		{"disk", terminal.Size(l.Disk)},
		{"file size", terminal.Size(l.FileSize)},
		{"pids", l.Pids},
		{"open files", l.OpenFiles},
		{"output", terminal.Size(l.Output)},
		{"max wait", p.MaxWait},
		{"broken for at most", span(p.BrokenFor, "any time")},
		{"max waiting of one submitter", p.MaxWaiting},
		{"max running of one submitter", anyNumber(p.Running)},
		{"stage timeout", p.StageTimeout},
		{"keep outputs", span(p.KeepOutputs, "as long as their results")},
		{"on host loss", p.OnHostLoss},
	}...)
}

// brokenRows says where a pool's VMs cannot be made.
func brokenRows(p core.Pool, hosts []core.HostInfo, outages map[string]core.Outage) (rows []table.Row) {
	for _, host := range hosts {
		if what := host.Fetching[p.Name]; what != "" {
			rows = append(rows, table.Row{"downloading on " + host.Name, terminal.Clean(what)})
		}
		if why := host.Broken[p.Name]; why != "" {
			rows = append(rows, table.Row{"broken on " + host.Name, terminal.Clean(why)})
		}
	}
	if o, is := outages[p.Name]; is {
		rows = append(rows, table.Row{"broken on all hosts", "for " + strings.ToLower(units.HumanDuration(o.Lasted)) + "; " + Fails(p, o)})
	}
	return rows
}

// Fails says when waiting requests of a pool fail if its outage lasts.
func Fails(p core.Pool, o core.Outage) string {
	switch {
	case p.FailsAt(o) == 0:
		return "its requests wait on"
	case p.Fails(o):
		return "its requests fail"
	}
	return fmt.Sprintf("its requests fail in %s if that lasts", max(time.Second, (p.BrokenFor-o.Lasted).Round(time.Second)))
}

// imageOf says what a pool's image is now.
func imageOf(ctx context.Context, h *access.Cluster, p core.Pool) (string, error) {
	if p.Image == "" {
		return "", nil
	}
	image, err := h.Store.GetImage(ctx, p.Image)
	switch {
	case core.Is(err, core.CodeNotFound), core.Is(err, core.CodeInvalid):
		return terminal.Clean(p.Image) + ": " + terminal.Clean(err.Error()), nil
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("%s, %s, made %s", image.Name, ShortDigest(image.Digest), terminal.Since(image.Created)), nil
}

// sayIfImageIsMissing warns if a pool is set before its image is made.
func sayIfImageIsMissing(c *cli.Context, h *access.Cluster, p core.Pool) error {
	if p.Image == "" {
		return nil
	}
	_, err := h.Store.GetImage(c.Context, p.Image)
	if core.Is(err, core.CodeNotFound) {
		fmt.Fprintf(c.App.ErrWriter, "drover: pool %s can make no VMs yet: %s\n", p.Name, terminal.Clean(err.Error()))
		return nil
	}
	return err
}
