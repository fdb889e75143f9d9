package operator

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// HostView is all data about one host.
type HostView struct {
	core.HostInfo
	Capacity core.Size        `json:"capacity"`  // what it has for VMs
	Free     core.Size        `json:"free"`      // of that, what its VMs do not take
	OwnersOf []core.OwnerInfo `json:"owners_of"` // replaces the list of their names
	Now      time.Time        `json:"-"`         // by the clock of Redis
}

func showHost(c *cli.Context, h *access.Cluster) error {
	name, err := terminal.OneArg(c, "host")
	if err != nil {
		return err
	}
	found, err := h.Operate().Host(c.Context, access.Operator(), name)
	if err != nil {
		return err
	}
	v := HostView{HostInfo: found.HostInfo, Capacity: found.Capacity, Free: found.Free, OwnersOf: found.OwnersOf, Now: h.Now()}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, v)
	}
	return v.Print(c.App.Writer)
}

// Print prints the host for people.
func (v HostView) Print(w io.Writer) error {
	rows := []table.Row{
		{"host", v.Name},
		{"state", hostState(v.HostInfo)},
		{"heartbeat", lateness(v.Now, v.Deadline)},
		{"cpus", v.CPU},
		{"memory", terminal.Size(v.Memory)},
	}
	if v.Disk > 0 {
		rows = append(rows, table.Row{"disk", terminal.Size(v.Disk)})
	}
	rows = append(rows, loadRows(v.HostInfo)...)
	rows = append(rows,
		table.Row{"for VMs", sizeText(v.Capacity)}, table.Row{"of that free", sizeText(v.Free)},
		table.Row{"pools", cmp.Or(strings.Join(v.Serves, " "), "none")},
	)
	if len(v.Settings.Labels) > 0 {
		rows = append(rows, table.Row{"labels", core.FormatLabels(v.Settings.Labels)})
	}
	rows = append(rows, troubleRows(v.HostInfo)...)
	for _, o := range v.OwnersOf {
		beat := lateness(v.Now, o.Deadline)
		if o.Deadline == 0 {
			beat = "fenced"
		}
		rows = append(rows, table.Row{"owner", fmt.Sprintf("%s: pid %d, version %s, %d in hand, heartbeat %s", o.Name, o.PID, terminal.Clean(o.Version), o.Slots, beat)})
	}
	for _, pool := range slices.Sorted(maps.Keys(v.VMsOf)) {
		rows = append(rows, table.Row{"VMs of " + pool, Counts(v.VMsOf[pool])})
	}
	if len(v.VMsOf) == 0 {
		rows = append(rows, table.Row{"VMs", "none"})
	}
	for _, p := range v.Providers {
		rows = append(rows, providerRows(p)...)
	}
	for _, pool := range slices.Sorted(maps.Keys(v.Fetching)) {
		rows = append(rows, table.Row{"downloading for pool " + pool, terminal.Clean(v.Fetching[pool])})
	}
	for _, pool := range slices.Sorted(maps.Keys(v.Broken)) {
		rows = append(rows, table.Row{"broken pool " + pool, terminal.Clean(v.Broken[pool])})
	}
	return terminal.PrintTable(w, "", table.Row{"", ""}, rows)
}

// loadRows lists what the host measured.
func loadRows(h core.HostInfo) []table.Row {
	m := h.Load
	if m == nil {
		return []table.Row{{"load", "not known: its vmfactory has sent none lately"}}
	}
	free := fmt.Sprintf("%s processors, %s memory", cpuText(m.Free.CPU), terminal.Size(m.Free.Memory))
	if h.Disk > 0 {
		free += fmt.Sprintf(", %s disk", terminal.Size(m.Free.Disk))
	}
	within := time.Duration(m.Within) * time.Millisecond
	rows := []table.Row{{"free now", fmt.Sprintf("%s; measured %s, again within %s", free, terminal.Since(m.At), within.Round(time.Second))}}
	text := "not measured by its kernel"
	if p := m.Pressure; p != nil {
		text = fmt.Sprintf("some program waited for processors %g %% of the time, for memory %g %%, for disks %g %%", p.CPU, p.Memory, p.IO)
	}
	return append(rows, table.Row{"pressure", text})
}

// cpuText writes thousandths of processors for people.
func cpuText(thousandths int64) string { return fmt.Sprintf("%.1f", float64(thousandths)/1000) }

// sizeText writes a size for people, without the figures that the host did not report.
func sizeText(s core.Size) string {
	const most = core.Unlimited / 2
	var parts []string
	if s.CPU < most {
		parts = append(parts, fmt.Sprintf("%g processors", float64(s.CPU)/1000))
	}
	if s.Memory < most {
		parts = append(parts, terminal.Size(s.Memory)+" memory")
	}
	if s.Disk < most {
		parts = append(parts, terminal.Size(s.Disk)+" disk")
	}
	return cmp.Or(strings.Join(parts, ", "), "not reported")
}

// troubleRows lists reports of failure and the probation of a host.
func troubleRows(h core.HostInfo) []table.Row {
	var rows []table.Row
	if f := h.Failed; f != nil {
		rows = append(rows, table.Row{"failed", fmt.Sprintf("reported by %s %s%s; drover host report %s recovered lets it back",
			terminal.Clean(f.By), terminal.Since(f.At), terminal.Prefixed(": ", terminal.Clean(f.Reason)), h.Name)})
	}
	if p := h.Probation; p != nil {
		text := fmt.Sprintf("%s; %d of %d requests in a row succeeded, for the %s time", terminal.Clean(p.Reason), p.Good, p.Needed, ordinal(p.Times))
		if left := time.Until(time.UnixMilli(p.Until)); left > 0 {
			text += fmt.Sprintf("; it gets none for another %s", left.Round(time.Second))
		}
		rows = append(rows, table.Row{"probation", text + "; drover host trust " + h.Name + " ends it"})
	}
	return rows
}

// ordinal writes 1 as 1st.
func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}

func providerRows(p core.ProviderNote) []table.Row {
	rows := []table.Row{{"provider " + p.Name, cmp.Or(terminal.Clean(p.Missing), "can make VMs")}}
	for _, l := range p.Limits {
		text := cmp.Or(l.HeldBy, "nothing holds it")
		if l.Weak {
			text += ", which can be outrun for a moment"
		}
		rows = append(rows, table.Row{"  " + l.Name, text + terminal.Prefixed("; ", terminal.Clean(l.Note))})
	}
	return append(rows, selfTestRows(p.SelfTest)...)
}

func selfTestRows(t *core.SelfTest) []table.Row {
	if t == nil {
		return []table.Row{{"self-test", "none was made"}}
	}
	text := fmt.Sprintf("%s, %s, took %s", t.Verdict(), time.UnixMilli(t.At).Format(time.DateTime), time.Duration(t.TookMs)*time.Millisecond)
	rows := []table.Row{{"self-test", text + terminal.Prefixed(": ", terminal.Clean(t.Fault))}}
	for _, a := range t.Attacks {
		rows = append(rows, table.Row{"  " + a.Name, string(a.Verdict) + terminal.Prefixed(": ", terminal.Clean(a.Text))})
	}
	if t.Of != "" {
		rows = append(rows, table.Row{"  of", terminal.Clean(t.Of)})
	}
	return rows
}
