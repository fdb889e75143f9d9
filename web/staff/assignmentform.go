package staff

import (
	"net/url"
	"strconv"
	"strings"

	"drover/core"
	"drover/core/school"
	"drover/web/page"
)

// assignmentTyped returns an assignment's form fields.
func assignmentTyped(as school.Assignment) url.Values {
	l := as.Limits
	return url.Values{
		"handle": {as.Handle}, "title": {as.Title}, "text": {as.Text}, "revision": {strconv.FormatInt(as.Revision, 10)},
		"due": {momentText(as.Due)}, "cutoff": {momentText(as.Cutoff)}, "hide_until": {momentText(as.HideUntil)},
		"final": {ticked(as.AllowFinal)}, "show_output": {ticked(as.ShowOutput)}, "pool": {as.Pool}, "priority": {string(as.Priority)},
		"max_files": {wholeText(int64(as.MaxFiles))}, "max_bytes": {sizeText(as.MaxBytes)},
		"counts": {string(as.Policy())}, "grace": {wholeText(int64(as.Grace))}, "penalty": {percentText(as.Penalty)}, "floor": {percentText(as.Floor)},
		"required": {strings.Join(as.Required, "\n")},
		"timeout":  {secondsText(l.Timeout)}, "memory": {sizeText(l.Memory)}, "disk": {sizeText(l.Disk)}, "file_size": {sizeText(l.FileSize)},
		"pids": {wholeText(int64(l.Pids))}, "open_files": {wholeText(int64(l.OpenFiles))}, "output": {sizeText(l.Output)},
	}
}

// readAssignment returns an assignment with the form's values in place of the old ones.
func readAssignment(r *page.Request, f *form, as school.Assignment) school.Assignment {
	as.Title, as.Text = f.line("title"), f.text("text")
	as.Due = f.moment(r, "due", page.Sentence("Due"))
	as.Cutoff = f.moment(r, "cutoff", page.Sentence("Cutoff"))
	as.HideUntil = f.moment(r, "hide_until", page.Sentence("Hidden until"))
	as.AllowFinal, as.ShowOutput = f.checked("final"), f.checked("show_output")
	as.Pool, as.Priority = f.line("pool"), core.Priority(f.line("priority"))
	as.MaxFiles = f.small(r, "max_files", page.Sentence("Most files"))
	as.MaxBytes = f.bytes(r, "max_bytes", page.Sentence("Most bytes"))
	as.Rules = school.Rules{
		Counts: school.Policy(f.line("counts")), Grace: f.small(r, "grace", page.Sentence("Grace period")),
		Penalty: f.percent(r, "penalty", page.Sentence("Penalty")), Floor: f.percent(r, "floor", page.Sentence("Kept at least")),
		Required: f.lines("required"),
	}
	as.AllowFinal = as.AllowFinal || as.Counts == school.CountsFinal
	l := &as.Limits
	l.Timeout = f.seconds(r, "timeout", page.Sentence("Time"))
	l.Memory = f.bytes(r, "memory", page.Sentence("Memory"))
	l.Disk = f.bytes(r, "disk", page.Sentence("Disk"))
	l.FileSize = f.bytes(r, "file_size", page.Sentence("Size of a file"))
	l.Pids = f.small(r, "pids", page.Sentence("Processes"))
	l.OpenFiles = f.small(r, "open_files", page.Sentence("Open files"))
	l.Output = f.bytes(r, "output", page.Sentence("Output"))
	return as
}

// HasLimits reports whether the form sets any limits.
func (p *assignmentPage) HasLimits() bool {
	for _, name := range []string{"timeout", "memory", "disk", "file_size", "pids", "open_files", "output"} {
		if p.Typed.Get(name) != "" {
			return true
		}
	}
	return false
}
