package main

import (
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
)

func sayLeftOut(c *cli.Context, left int) {
	fmt.Fprintf(c.App.ErrWriter, "drover: %d that ended more than a week ago are left out: --all lists them too\n", left)
}

func showAssignment(c *cli.Context, d backend) error {
	at, err := zone(c)
	if err != nil {
		return err
	}
	found, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	e, err := d.ViewAssignment(c.Context, found.Class, found.Handle)
	if err != nil {
		return err
	}
	who, err := d.Who(c.Context)
	if err != nil {
		return err
	}
	staff := core.Allow(who, core.ActDeadlineEdit, core.Object{Class: e.Class}) == nil
	deadlines := []core.Deadline{}
	if staff {
		if deadlines, err = d.Deadlines(c.Context, e.Class, e.Handle, ""); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return printJSON(c.App.Writer, struct {
			classes.AssignmentEntry
			Deadlines []core.Deadline `json:"deadlines,omitempty"`
		}{e, deadlines})
	}
	if err := printTable(c.App.Writer, "", table.Row{"", ""}, assignmentRows(e, staff, at)); err != nil || len(deadlines) == 0 {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	return printDeadlines(c, deadlines, at)
}

func assignmentRows(e classes.AssignmentEntry, staff bool, at *time.Location) []table.Row {
	rows := []table.Row{
		{"assignment", e.Name()},
		{"title", clean(e.Title)},
		{"due", showMoment(e.Due, at)},
		{"cutoff", showMoment(e.Cutoff, at)},
		{"yours", e.Progress},
	}
	add := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "0" && text != "0s" && text != "0B" {
			rows = append(rows, table.Row{name, text})
		}
	}
	if e.Submitted > 0 {
		add("submitted", showMoment(e.Submitted, at))
	}
	add("", stageOf(e))
	if e.AllowFinal {
		add("final submissions", "allowed")
	}
	add("most files", e.MaxFiles)
	add("most bytes", size(e.MaxBytes))
	if staff {
		if e.HideUntil > 0 {
			add("hidden until", showMoment(e.HideUntil, at))
		}
		add("pool", e.Pool)
		add("priority", e.Priority)
		add("timeout", e.Limits.Timeout)
		add("memory", size(e.Limits.Memory))
		add("disk", size(e.Limits.Disk))
		add("file size", size(e.Limits.FileSize))
		add("pids", e.Limits.Pids)
		add("open files", e.Limits.OpenFiles)
		add("output", size(e.Limits.Output))
		add("harness", harnessWord(e.Harness))
	}
	add("text", clean(e.Text))
	return rows
}

func harnessWord(h *core.Harness) string {
	switch {
	case h == nil:
		return "none: what is submitted is kept and not graded"
	case h.Stock:
		return fmt.Sprintf("%s, graded by its cases.yaml", size(h.File.Size))
	}
	return fmt.Sprintf("%s, a program of its own", size(h.File.Size))
}

func printDeadlines(c *cli.Context, all []core.Deadline, at *time.Location) error {
	rows := make([]table.Row, len(all))
	for i, d := range all {
		rows[i] = table.Row{d.User, shortMoment(d.Due, at), shortMoment(d.Cutoff, at), d.By, clean(d.Reason)}
	}
	return printTable(c.App.Writer, "no user has dates of its own", table.Row{"user", "due", "cutoff", "given by", "reason"}, rows)
}
