package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

// hostView is all that is known of one host.
type hostView struct {
	core.HostInfo
	OwnersOf []core.OwnerInfo `json:"owners_of"` // in place of their names alone
}

func showHost(c *cli.Context, h *cluster) error {
	name, err := oneArg(c, "host")
	if err != nil {
		return err
	}
	found, err := h.operate().Host(c.Context, operator(), name)
	if err != nil {
		return err
	}
	v := hostView{HostInfo: found.HostInfo, OwnersOf: found.OwnersOf}
	if c.Bool("json") {
		return printJSON(c.App.Writer, v)
	}
	return v.print(c.App.Writer)
}

func (v hostView) print(w io.Writer) error {
	rows := []table.Row{
		{"host", v.Name},
		{"state", hostState(v.HostInfo)},
		{"heartbeat", lateness(v.Deadline)},
		{"cpus", v.CPU},
		{"memory", size(v.Memory)},
	}
	if v.Disk > 0 {
		rows = append(rows, table.Row{"disk", size(v.Disk)})
	}
	rows = append(rows, troubleRows(v.HostInfo)...)
	for _, o := range v.OwnersOf {
		beat := lateness(o.Deadline)
		if o.Deadline == 0 {
			beat = "fenced"
		}
		rows = append(rows, table.Row{"owner", fmt.Sprintf("%s: pid %d, version %s, %d in hand, heartbeat %s", o.Name, o.PID, clean(o.Version), o.Slots, beat)})
	}
	for _, pool := range slices.Sorted(maps.Keys(v.VMsOf)) {
		rows = append(rows, table.Row{"VMs of " + pool, counts(v.VMsOf[pool])})
	}
	if len(v.VMsOf) == 0 {
		rows = append(rows, table.Row{"VMs", "none"})
	}
	for _, p := range v.Providers {
		rows = append(rows, providerRows(p)...)
	}
	for _, pool := range slices.Sorted(maps.Keys(v.Fetching)) {
		rows = append(rows, table.Row{"downloading for pool " + pool, clean(v.Fetching[pool])})
	}
	for _, pool := range slices.Sorted(maps.Keys(v.Broken)) {
		rows = append(rows, table.Row{"broken pool " + pool, clean(v.Broken[pool])})
	}
	return printTable(w, "", table.Row{"", ""}, rows)
}

// troubleRows say who holds what against a host.
func troubleRows(h core.HostInfo) []table.Row {
	var rows []table.Row
	if f := h.Failed; f != nil {
		rows = append(rows, table.Row{"failed", fmt.Sprintf("reported by %s %s%s; drover host report %s recovered lets it back",
			clean(f.By), since(f.At), prefixed(": ", clean(f.Reason)), h.Name)})
	}
	if p := h.Probation; p != nil {
		text := fmt.Sprintf("%s; %d of %d requests in a row went well, for the %s time", clean(p.Reason), p.Good, p.Needed, ordinal(p.Times))
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
	rows := []table.Row{{"provider " + p.Name, cmp.Or(clean(p.Missing), "can make VMs")}}
	for _, l := range p.Limits {
		text := cmp.Or(l.HeldBy, "nothing holds it")
		if l.Weak {
			text += ", which can be outrun for a moment"
		}
		rows = append(rows, table.Row{"  " + l.Name, text + prefixed("; ", clean(l.Note))})
	}
	return append(rows, selfTestRows(p.SelfTest)...)
}

func selfTestRows(t *core.SelfTest) []table.Row {
	if t == nil {
		return []table.Row{{"self-test", "none was made"}}
	}
	text := fmt.Sprintf("%s, %s, took %s", t.Verdict(), time.UnixMilli(t.At).Format(time.DateTime), time.Duration(t.TookMs)*time.Millisecond)
	rows := []table.Row{{"self-test", text + prefixed(": ", clean(t.Fault))}}
	for _, a := range t.Attacks {
		rows = append(rows, table.Row{"  " + a.Name, string(a.Verdict) + prefixed(": ", clean(a.Text))})
	}
	if t.Of != "" {
		rows = append(rows, table.Row{"  of", clean(t.Of)})
	}
	return rows
}
