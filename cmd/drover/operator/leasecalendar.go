package operator

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/lease"
)

// Columns of a calendar of text: so many for each day, so that it fits into 80 columns.
const (
	calendarWidth = 56
	mostDays      = 28
)

func leaseCalendar(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	days := c.Int("days")
	if days < 1 || days > mostDays {
		return core.Errorf(core.CodeInvalid, "days", "--days is 1 to %d", mostDays)
	}
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	from, err := leaseMoment(c, "from")
	if err != nil {
		return err
	}
	if from == 0 {
		from = time.Now().UnixMilli()
	}
	first := time.UnixMilli(from).In(at)
	first = time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, at)
	v, err := d.Calendar(c.Context, first.UnixMilli(), first.AddDate(0, 0, days).UnixMilli(), c.String("pool"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, v)
	}
	return printCalendar(c.App.Writer, &v, first, days, c.String("pool"))
}

// printCalendar draws hosts × time. A column is the part of a day that fits, and shows the most that is reserved in it.
func printCalendar(w io.Writer, v *lease.View, first time.Time, days int, pool string) error {
	each := max(1, min(24, calendarWidth/days))
	var head strings.Builder
	for n := range days {
		name := first.AddDate(0, 0, n).Format("Mon 2")
		if each < len(name)+1 {
			name = first.AddDate(0, 0, n).Format("2")
		}
		fmt.Fprintf(&head, "%-*.*s", each, each, name)
	}
	step := (v.To - v.From) / int64(days*each)
	column := func(draw func(from, to int64) rune) string {
		var line strings.Builder
		for at := v.From; at+step <= v.To; at += step {
			line.WriteRune(draw(at, at+step))
		}
		return line.String()
	}
	rows := make([]table.Row, 0, len(v.Hosts)+1)
	for i := range v.Hosts {
		h := &v.Hosts[i]
		rows = append(rows, table.Row{h.Name, column(func(from, to int64) rune { return cell(h, from, to) }), terminal.Clean(h.Out)})
	}
	if len(rows) == 0 {
		_, err := io.WriteString(w, "no hosts\n")
		return err
	}
	if pool != "" {
		rows = append(rows, table.Row{"free " + pool, column(func(from, to int64) rune { return digit(freeUnits(v, from, to)) }), ""})
	}
	if err := terminal.PrintTable(w, "", table.Row{"host", head.String(), ""}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n. nothing is reserved, 1-9 units are, + more, # the whole host; each column is %s, in %s\n", time.Duration(step)*time.Millisecond, first.Location())
	if err != nil || len(v.Leases) == 0 && len(v.Due) == 0 {
		return err
	}
	return printAgenda(w, v, first.Location())
}

// cell is what a host holds in a time.
func cell(h *lease.HostView, from, to int64) rune {
	most := 0
	moments := []int64{from}
	for _, b := range h.Blocks {
		if b.From > from && b.From < to {
			moments = append(moments, b.From)
		}
	}
	for _, at := range moments {
		units := 0
		for _, b := range h.Blocks {
			if b.From > at || b.To <= at {
				continue
			}
			if b.Whole {
				return '#'
			}
			units += b.Units
		}
		most = max(most, units)
	}
	if most == 0 {
		return '.'
	}
	return digit(most)
}

// digit is a number in one column.
func digit(n int) rune {
	const digits = "0123456789"
	if n >= len(digits) {
		return '+'
	}
	return rune(digits[n])
}

// freeUnits is how many units are free all through a time, on all hosts together.
func freeUnits(v *lease.View, from, to int64) int {
	least := -1
	for _, s := range v.Free {
		if s.From < to && from < s.To && (least < 0 || s.Units < least) {
			least = s.Units
		}
	}
	return max(0, least)
}

// printAgenda lists the leases, and what is due.
func printAgenda(w io.Writer, v *lease.View, at *time.Location) error {
	type line struct {
		at  int64
		row table.Row
	}
	var all []line
	for i := range v.Leases {
		l := &v.Leases[i]
		all = append(all, line{l.Start, table.Row{terminal.ShortMoment(l.Start, at), terminal.ShortMoment(l.End, at), terminal.Clean(l.Name), stateText(l), heldText(l), l.ID}})
	}
	for _, d := range v.Due {
		all = append(all, line{d.At, table.Row{terminal.ShortMoment(d.At, at), "", terminal.Clean(d.Title), "due", "", ""}})
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	rows := make([]table.Row, len(all))
	for i := range all {
		rows[i] = all[i].row
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return terminal.PrintTable(w, "", table.Row{"from", "until", "what", "state", "holds", "lease"}, rows)
}
