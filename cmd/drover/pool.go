package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/docker/go-units"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

func poolCommand() *cli.Command {
	return &cli.Command{
		Name: "pool", Usage: "look at pools and set them", OnUsageError: usageError,
		Subcommands: []*cli.Command{
			clientCommand("list", "list pools, their VMs and what waits for them", "", nil, listPools),
			clientCommand("show", "show all settings of a pool", "POOL", nil, showPool),
			clientCommand("set", "make a pool, or change those settings of it that are named", "POOL", poolFlags(), setPool),
		},
	}
}

func poolFlags() []cli.Flag {
	return slices.Concat(limitFlags(), []cli.Flag{
		&cli.StringFlag{Name: "provider", Usage: "what makes its VMs: `PROVIDER` local or lxc"},
		&cli.StringFlag{Name: "image", Usage: "what its VMs are made of: `NAME` or NAME@DIGEST of drover image list; empty is the provider's own"},
		&cli.IntFlag{Name: "warm", Usage: "clean VMs kept ready on each host"},
		&cli.IntFlag{Name: "max", Usage: "most VMs on each host"},
		&cli.BoolFlag{Name: "paused", Usage: "start no request of it (--paused=false to go on)"},
		&cli.Float64Flag{Name: "cpu", Usage: "processors that each VM may use, such as 1 or 0.5; 0 leaves it to the provider"},
		&cli.StringFlag{Name: "network", Usage: "what its VMs can reach: `NETWORK` none or egress"},
		&cli.DurationFlag{Name: "max-wait", Usage: "how long a request may wait before it ends timed_out; 0 is for ever"},
		&cli.IntFlag{Name: "max-waiting-each", Usage: "most waiting requests of one submitter and class"},
		&cli.DurationFlag{Name: "stage-timeout", Usage: "most time from claim to the start of the command"},
		&cli.DurationFlag{Name: "keep-outputs", Usage: "how long a result keeps its stdout, stderr and files, such as 168h; scores and tests stay; 0 is as long as itself"},
		&cli.StringFlag{Name: "on-host-loss", Usage: "what becomes of the work of a lost host: `POLICY` requeue or fail"},
	})
}

// limitFlags are those of the limits of a run.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "timeout", Usage: "most wall time of a run, and what one gets that asks for none"},
		&cli.StringFlag{Name: "memory", Usage: "most memory of a run, such as `256MiB`"},
		&cli.StringFlag{Name: "disk", Usage: "most bytes in each writable place"},
		&cli.StringFlag{Name: "file-size", Usage: "most bytes of one file"},
		&cli.IntFlag{Name: "pids", Usage: "most processes and threads"},
		&cli.IntFlag{Name: "open-files", Usage: "most open files of a process"},
		&cli.StringFlag{Name: "output", Usage: "bytes kept of each of stdout and stderr"},
	}
}

func setPool(c *cli.Context, h *cluster) error {
	name, err := oneArg(c, "pool's name")
	if err != nil {
		return err
	}
	p, err := h.redis.GetPool(c.Context, name)
	if core.Is(err, core.CodeNotFound) {
		p, err = core.DefaultPool(name), nil
	}
	if err != nil {
		return err
	}
	if err := applyPoolFlags(c, &p); err != nil {
		return err
	}
	if p.Image, err = h.wholeRef(c.Context, p.Image); err != nil {
		return err
	}
	if err := h.operate().SetPool(c.Context, operator(), p); err != nil {
		return err
	}
	if err := h.sayIfImageIsMissing(c, p); err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, p)
	}
	_, err = fmt.Fprintf(c.App.Writer, "pool %s is set; drover pool show %s shows it\n", name, name)
	return err
}

func applyPoolFlags(c *cli.Context, p *core.Pool) error {
	for name, into := range map[string]*string{"provider": &p.Provider, "image": &p.Image, "network": &p.Network, "on-host-loss": &p.OnHostLoss} {
		if c.IsSet(name) {
			*into = c.String(name)
		}
	}
	if provider := c.String("provider"); c.IsSet("provider") && !slices.Contains(providerNames, provider) {
		return noProvider(provider)
	}
	for name, into := range map[string]*int{"warm": &p.Warm, "max": &p.Max, "max-waiting-each": &p.MaxWaiting} {
		if c.IsSet(name) {
			*into = c.Int(name)
		}
	}
	if err := applyLimitFlags(c, &p.Limits); err != nil {
		return err
	}
	if c.IsSet("cpu") {
		cpu := c.Float64("cpu") * 1000
		if math.IsNaN(cpu) || cpu < 0 || cpu > core.MaxCPU || cpu > 0 && cpu < core.MinCPU {
			return core.Errorf(core.CodeInvalid, "cpu", "--cpu %g must be 0, or between %g and %d processors", cpu/1000, core.MinCPU/1000.0, core.MaxCPU/1000)
		}
		p.Limits.CPU = int(math.Round(cpu))
	}
	if c.IsSet("paused") {
		p.Paused = c.Bool("paused")
	}
	for name, into := range map[string]*time.Duration{
		"max-wait": &p.MaxWait, "stage-timeout": &p.StageTimeout, "keep-outputs": &p.KeepOutputs,
	} {
		if c.IsSet(name) {
			*into = c.Duration(name)
		}
	}
	return nil
}

// applyLimitFlags changes those limits that flags name.
func applyLimitFlags(c *cli.Context, l *core.Limits) error {
	for name, into := range map[string]*int{"pids": &l.Pids, "open-files": &l.OpenFiles} {
		if c.IsSet(name) {
			*into = c.Int(name)
		}
	}
	for name, into := range map[string]*int64{"memory": &l.Memory, "disk": &l.Disk, "file-size": &l.FileSize, "output": &l.Output} {
		if err := sizeFlag(c, name, into); err != nil {
			return err
		}
	}
	if c.IsSet("timeout") {
		l.Timeout = c.Duration("timeout")
	}
	return nil
}

// sizeFlag reads a flag that is a number of bytes, if it was given.
func sizeFlag(c *cli.Context, name string, into *int64) error {
	if !c.IsSet(name) {
		return nil
	}
	n, err := units.RAMInBytes(c.String(name))
	if err != nil || n < 0 {
		return core.Errorf(core.CodeInvalid, name, "--%s %q is not a size: write a number and a unit, such as 64MiB", name, c.String(name))
	}
	*into = n
	return nil
}

func listPools(c *cli.Context, h *cluster) error {
	if err := noArgs(c); err != nil {
		return err
	}
	pools, err := h.redis.ListPools(c.Context)
	if err != nil {
		return err
	}
	waiting, err := h.redis.Waiting(c.Context)
	if err != nil {
		return err
	}
	vms, err := h.redis.ListVMs(c.Context, "")
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
		return printJSON(c.App.Writer, views)
	}
	rows := make([]table.Row, len(views))
	for i, v := range views {
		rows[i] = table.Row{
			v.Name, v.Provider, fmt.Sprintf("%d of at most %d", v.Warm, v.Max), pausedWord(v.Paused),
			v.Waiting[core.PriorityHigh], v.Waiting[core.PriorityNormal], v.Waiting[core.PriorityLow], counts(v.VMs),
		}
	}
	return printTable(c.App.Writer, "no pools: make one with drover pool set NAME",
		table.Row{"pool", "provider", "warm per host", "", "high", "normal", "low waiting", "vms"}, rows)
}

// keptFor is how long outputs are kept, for people.
func keptFor(d time.Duration) string {
	if d == 0 {
		return "as long as their results"
	}
	return d.String()
}

// processors are thousandths of a processor, for people.
func processors(cpu int) string {
	if cpu == 0 {
		return "the provider's own"
	}
	return strconv.FormatFloat(float64(cpu)/1000, 'g', -1, 64)
}

func pausedWord(paused bool) string {
	if paused {
		return "paused"
	}
	return ""
}

func showPool(c *cli.Context, h *cluster) error {
	name, err := oneArg(c, "pool's name")
	if err != nil {
		return err
	}
	p, err := h.redis.GetPool(c.Context, name)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, p)
	}
	image, err := h.imageOf(c.Context, p)
	if err != nil {
		return err
	}
	hosts, err := h.redis.ListHosts(c.Context)
	if err != nil {
		return err
	}
	l := p.Limits
	rows := []table.Row{
		{"pool", p.Name},
		{"provider", p.Provider},
		{"image", image},
		{"warm", p.Warm},
		{"max", p.Max},
		{"paused", p.Paused},
		{"timeout", l.Timeout},
		{"network", cmp.Or(p.Network, core.NetworkNone)},
		{"cpu", processors(l.CPU)},
		{"memory", size(l.Memory)},
		{"disk", size(l.Disk)},
		{"file size", size(l.FileSize)},
		{"pids", l.Pids},
		{"open files", l.OpenFiles},
		{"output", size(l.Output)},
		{"max wait", p.MaxWait},
		{"max waiting of one submitter", p.MaxWaiting},
		{"stage timeout", p.StageTimeout},
		{"keep outputs", keptFor(p.KeepOutputs)},
		{"on host loss", p.OnHostLoss},
	}
	for _, host := range hosts {
		if what := host.Fetching[p.Name]; what != "" {
			rows = append(rows, table.Row{"downloading on " + host.Name, clean(what)})
		}
		if why := host.Broken[p.Name]; why != "" {
			rows = append(rows, table.Row{"broken on " + host.Name, clean(why)})
		}
	}
	return printTable(c.App.Writer, "", table.Row{"setting", "value"}, rows)
}

// imageOf says what a pool's image is now.
func (h *cluster) imageOf(ctx context.Context, p core.Pool) (string, error) {
	if p.Image == "" {
		return "", nil
	}
	image, err := h.store.GetImage(ctx, p.Image)
	switch {
	case core.Is(err, core.CodeNotFound), core.Is(err, core.CodeInvalid):
		return clean(p.Image) + ": " + clean(err.Error()), nil
	case err != nil:
		return "", err
	}
	return fmt.Sprintf("%s, %s, made %s", image.Name, shortDigest(image.Digest), since(image.Created)), nil
}

// sayIfImageIsMissing warns who sets a pool before its image is made.
func (h *cluster) sayIfImageIsMissing(c *cli.Context, p core.Pool) error {
	if p.Image == "" {
		return nil
	}
	_, err := h.store.GetImage(c.Context, p.Image)
	if core.Is(err, core.CodeNotFound) {
		fmt.Fprintf(c.App.ErrWriter, "drover: pool %s can make no VMs yet: %s\n", p.Name, clean(err.Error()))
		return nil
	}
	return err
}
