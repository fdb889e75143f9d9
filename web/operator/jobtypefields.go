package operator

import (
	"strings"

	"github.com/kballard/go-shellquote"

	"drover/core"
	"drover/web/page"
)

// typeFields are a job type's settings; reading a field changes the type. Pools must name at least one.
func typeFields(t *core.JobType, pools []string) []field {
	l := &t.Limits
	return []field{
		choice("pool", page.Sentence("Pool"), &t.Pool, pools...),
		choice("priority", page.Sentence("Priority, also the highest"), (*string)(&t.Priority), core.Texts(core.Priorities())...),
		{
			Name: "command", Label: page.Sentence("Command"), Lines: 3, Value: shellquote.Join(t.Command...),
			Help: page.Sentence("Program and arguments, quoted as for a shell; no shell reads them. Empty: the request says what is run, or the harness is. A command replaces a harness."),
			read: words(&t.Command),
		},
		lines("env", page.Sentence("Variables"), page.Sentence("NAME=value, one a line."), &t.Env),
		lines("collect", page.Sentence("Files to keep"), page.Sentence("Of the command's folder, one a line."), &t.Collect),
		lines("submitters", page.Sentence("Who may use it"), page.Sentence("Users, one a line; empty: all who may make requests."), &t.Submitters),
		span("timeout", page.Sentence("Longest run"), page.Sentence("0: the pool's. The same for those below."), &l.Timeout),
		size("memory", page.Sentence("Memory"), &l.Memory),
		size("disk", page.Sentence("Disk of each writable place"), &l.Disk),
		size("file_size", page.Sentence("Largest file"), &l.FileSize),
		number("pids", page.Sentence("Processes and threads"), &l.Pids),
		number("open_files", page.Sentence("Open files of a process"), &l.OpenFiles),
		size("output", page.Sentence("Kept of each of stdout and stderr"), &l.Output),
	}
}

// words reads words that are quoted as for a shell.
func words(into *[]string) func(text string) error {
	return func(text string) error {
		all, err := shellquote.Split(strings.ReplaceAll(text, "\r\n", "\n"))
		if err != nil {
			return core.Wrap(err, core.CodeInvalid, "command", "the quotes of the command do not match")
		}
		if *into = all; len(all) == 0 {
			*into = nil
		}
		return nil
	}
}

// lines is a list with one text a line. Texts with line breaks, which other programs can set, stay as they are if the
// field is not changed.
func lines(name, label, help string, into *[]string) field {
	shown := strings.Join(*into, "\n")
	return field{Name: name, Label: label, Help: help, Lines: 3, Value: shown, read: func(text string) error {
		if text = strings.ReplaceAll(text, "\r\n", "\n"); text == shown {
			return nil
		}
		*into = nil
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				*into = append(*into, line)
			}
		}
		return nil
	}}
}
