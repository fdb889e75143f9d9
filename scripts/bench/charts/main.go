// Command charts draws the charts of docs/benchmarks.md from the tables of that page. Run it in the root of the
// repository, after a table was replaced.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The page whose tables are drawn, and the folder of the charts.
const (
	page   = "docs/benchmarks.md"
	folder = "docs/charts"
)

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// write draws the charts of the repository in a folder.
func write(root string) error {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return err
	}
	all, err := draw(string(text))
	for name, svg := range all {
		err = errors.Join(err, os.WriteFile(filepath.Join(root, folder, name), []byte(svg), 0o644)) //nolint:gosec // it is documentation
	}
	return err
}

// draw returns the charts of a text's tables, by the names of their files.
func draw(markdown string) (map[string]string, error) {
	d := &drawing{figures: read(markdown)}
	charts := map[string]string{"jobs.svg": d.jobs(), "queue.svg": d.queue(), "processor.svg": d.processor(), "vms.svg": d.vms()}
	return charts, errors.Join(d.missing...)
}

// drawing collects what the tables do not have.
type drawing struct {
	figures
	missing []error
}

// bar is one of a number in a table.
func (d *drawing) bar(name, head, row, column string) bar {
	n, err := d.number(head, row, column)
	if err != nil {
		d.missing = append(d.missing, err)
	}
	return bar{name: name, value: n, own: strings.HasPrefix(name, "drover")}
}

func (d *drawing) jobs() string {
	c := chart{title: "Jobs that run “true”, a second", note: "More is better. drover alone has a queue, results on disk, and VMs that were never used before."}
	for _, clients := range []string{"1", "4", "16"} {
		g := group{name: strings.TrimSuffix(clients+" clients", "s") + map[bool]string{true: "", false: "s"}[clients == "1"]}
		for _, system := range []string{"drover", "go-judge", "bubblewrap", "bare"} {
			g.bars = append(g.bars, d.bar(system, "system", system+", true, "+clients+" at once", "median"))
		}
		c.groups = append(c.groups, g)
	}
	return c.svg()
}

func (d *drawing) queue() string {
	c := chart{title: "Empty jobs through the queue, a second", note: "More is better. All on a redis-server of their own, in turns."}
	var g group
	for _, system := range []string{
		"drover, 100 slots", "drover, 100 slots, 10,000 submitters", "drover, 1,000 slots", "drover, 1 slot",
		"asynq, 10 servers of c=10", "asynq, c=10", "asynq, c=1", "BullMQ, c=100",
	} {
		g.bars = append(g.bars, d.bar(system, "system", system, "median"))
	}
	c.groups = []group{g}
	return c.svg()
}

func (d *drawing) processor() string {
	c := chart{title: "Processor time of a job by component, ms", note: "Less is better. User and system together; VMs include what the kernel does for them."}
	for _, job := range []struct{ column, name string }{{"true", "true"}, {"c", "a C program, compiled and run"}, {"cases", "20 tests of a cases.yaml"}} {
		g := group{name: job.name}
		for _, component := range []struct{ row, name string }{
			{"VMs: agent, job, the kernel's work for them", "VMs, with agent and job"},
			{"vmfactory", "vmfactory"},
			{"testrunner", "testrunner"},
			{"overseer", "overseer"},
			{"redis-server", "redis-server"},
			{"the command: submits, follows, store", "submitting, following, store"},
		} {
			b := d.bar(component.name, "component", component.row, job.column)
			b.own = true
			g.bars = append(g.bars, b)
		}
		c.groups = append(c.groups, g)
	}
	return c.svg()
}

func (d *drawing) vms() string {
	c := chart{title: "Life cycle of a VM, median, ms", note: "Less is better. Of LXC: create, run “true”, destroy. By drover itself: create, destroy; in another run."}
	c.groups = []group{
		{name: "Containers of LXC", bars: []bar{
			d.bar("drover, provider lxc", "life cycle", "provider lxc", "p50 ms"),
			d.bar("lxc's own tools", "life cycle", "lxc's tools", "p50 ms"),
			d.bar("bare system calls", "life cycle", "bare", "p50 ms"),
		}},
		{name: "Namespaces by drover itself", bars: []bar{
			d.bar("drover, provider local", "a VM of provider local, created and destroyed", "one at a time, ms", "now"),
			d.bar("drover, without cgroups", "a VM of provider local, created and destroyed", "the same without cgroups, ms", "now"),
		}},
	}
	return c.svg()
}
