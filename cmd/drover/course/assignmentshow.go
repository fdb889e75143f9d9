package course

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

func sayLeftOut(c *cli.Context, left int) {
	fmt.Fprintf(c.App.ErrWriter, "drover: %d that ended more than a week ago are left out: --all lists them too\n", left)
}

func showAssignment(c *cli.Context, d access.Backend) error {
	at, err := terminal.Zone(c)
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
	deadlines := []school.Deadline{}
	if staff {
		if deadlines, err = d.Deadlines(c.Context, e.Class, e.Handle, ""); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, struct {
			classes.AssignmentEntry
			Deadlines []school.Deadline `json:"deadlines,omitempty"`
		}{e, deadlines})
	}
	if err := terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, assignmentRows(e, staff, at)); err != nil || len(deadlines) == 0 {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	return printDeadlines(c, deadlines, at)
}

func assignmentRows(e classes.AssignmentEntry, staff bool, at *time.Location) []table.Row {
	rows := []table.Row{
		{"assignment", e.Name()},
		{"title", terminal.Clean(e.Title)},
		{"due", terminal.ShowMoment(e.Due, at)},
		{"cutoff", terminal.ShowMoment(e.Cutoff, at)},
		{"yours", e.Progress},
	}
	add := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "0" && text != "0s" && text != "0B" {
			rows = append(rows, table.Row{name, text})
		}
	}
	if e.Submitted > 0 {
		add("submitted", terminal.ShowMoment(e.Submitted, at))
	}
	add("", stageOf(e))
	if e.AllowFinal {
		add("final submissions", "allowed")
	}
	add("counts", e.Policy())
	if e.Grace > 0 {
		add("grace", fmt.Sprintf("%d min", e.Grace))
	}
	if e.Penalty > 0 {
		add("penalty", fmt.Sprintf("%v%% a day, down to %v%%", e.Penalty, e.Floor))
	}
	add("required files", strings.Join(e.Required, " "))
	add("most files", e.MaxFiles)
	add("most bytes", terminal.Size(e.MaxBytes))
	if staff {
		if e.HideUntil > 0 {
			add("hidden until", terminal.ShowMoment(e.HideUntil, at))
		}
		add("pool", e.Pool)
		add("priority", e.Priority)
		add("timeout", e.Limits.Timeout)
		add("memory", terminal.Size(e.Limits.Memory))
		add("disk", terminal.Size(e.Limits.Disk))
		add("file size", terminal.Size(e.Limits.FileSize))
		add("pids", e.Limits.Pids)
		add("open files", e.Limits.OpenFiles)
		add("output", terminal.Size(e.Limits.Output))
		add("harness", harnessWord(e.Harness))
	}
	add("text", terminal.Clean(e.Text))
	return rows
}

func harnessWord(h *school.Harness) string {
	switch {
	case h == nil:
		return "none: what is submitted is kept and not graded"
	case h.Stock:
		return fmt.Sprintf("%s, graded by its cases.yaml", terminal.Size(h.File.Size))
	}
	return fmt.Sprintf("%s, a program of its own", terminal.Size(h.File.Size))
}

func printDeadlines(c *cli.Context, all []school.Deadline, at *time.Location) error {
	rows := make([]table.Row, len(all))
	for i, d := range all {
		rows[i] = table.Row{d.User, terminal.ShortMoment(d.Due, at), terminal.ShortMoment(d.Cutoff, at), d.By, terminal.Clean(d.Reason)}
	}
	return terminal.PrintTable(c.App.Writer, "no user has dates of its own", table.Row{"user", "due", "cutoff", "given by", "reason"}, rows)
}
