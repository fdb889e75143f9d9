package course

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/school"
)

// GradesCommand is drover grades.
func GradesCommand() *cli.Command {
	return &cli.Command{
		Name: "grades", Usage: "export the grades of a class", OnUsageError: terminal.UsageError, Subcommands: startCommands("grades"),
	}
}

// startCommands are the commands of a noun that have a task make a file and fetch it, one for each kind.
func startCommands(noun string) []*cli.Command {
	var all []*cli.Command
	for _, k := range school.Requestable() {
		verb, ok := strings.CutPrefix(k.Command, noun+" ")
		if !ok {
			continue
		}
		about, example := "CLASS", "cs101"
		if k.About() == core.ArgAssignment {
			about, example = "CLASS/ASSIGNMENT", "cs101/hw1"
		}
		all = append(all, access.BackendCommand(verb, task.Lowered(k.Does), about, "drover "+k.Command+" "+example,
			slices.Concat(task.ArgFlags(k.Options()), task.FetchFlags(), task.WaitFlags()), func(c *cli.Context, d access.Backend) error { return export(c, d, &k) }))
	}
	return all
}

// export starts a task, waits for it and fetches the file that it made.
func export(c *cli.Context, d access.Backend, k *core.TaskKind) error {
	if err := task.FreeTarget(c); err != nil {
		return err
	}
	texts := task.ArgTexts(c, k.Options())
	if k.About() == core.ArgAssignment {
		as, err := assignmentArg(c, d)
		if err != nil {
			return err
		}
		texts["class"], texts["assignment"] = as.Class, as.Handle
	} else {
		class, err := classArg(c, d)
		if err != nil {
			return err
		}
		texts["class"] = class.Handle
	}
	args, err := k.Write(texts)
	if err != nil {
		return err
	}
	t, err := d.StartTask(c.Context, k.Name, args)
	if err != nil {
		return err
	}
	t, ended, err := task.Started(c, d, t)
	if err != nil || !ended {
		return err
	}
	return task.FetchDownload(c, d, t.ID)
}
