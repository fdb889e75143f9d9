// Command drover is the program of the cluster: its components, its client commands, and a whole cluster in one
// process. The package has the tree of commands and the start of the program.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"drover/cmd/drover/access"
	"drover/cmd/drover/bench"
	"drover/cmd/drover/course"
	"drover/cmd/drover/demo"
	"drover/cmd/drover/doctor"
	"drover/cmd/drover/join"
	"drover/cmd/drover/operator"
	"drover/cmd/drover/request"
	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	_ "drover/core/agent/boot" // a VM's agent is this executable under another name
)

func main() {
	startCollector()
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program, and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := &cli.App{
		Name: "drover", Version: access.Version,
		Usage:    "run untrusted jobs, each in its own fresh container, on a cluster of hosts",
		Commands: commands(),
		Reader:   stdin, Writer: stdout, ErrWriter: stderr,
		Flags:                  terminal.SettingFlags(),
		EnableBashCompletion:   true,
		UseShortOptionHandling: true,
		Suggest:                true,
		ExitErrHandler:         func(*cli.Context, error) {},
		OnUsageError:           terminal.UsageError,
	}
	var unknown error
	app.CommandNotFound = func(c *cli.Context, name string) { unknown = unknownCommand(c, name) }
	err := app.RunContext(ctx, flagsFirst(app, args))
	if err == nil {
		err = unknown
	}
	if err == nil {
		return 0
	}
	var code terminal.ExitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(stderr, "drover: %s\n", terminal.Clean(terminal.Remedied(err)))
	return terminal.CodeOf(err)
}

// unknownCommand suggests commands with similar names.
func unknownCommand(c *cli.Context, name string) error {
	known, of := c.App.Commands, "drover"
	if c.Command != nil && len(c.Command.Subcommands) > 0 {
		known, of = c.Command.Subcommands, c.Command.HelpName
	}
	const close = 0.8 // of 1; finds a typing error or two, not another word
	meant, best := "", close
	for _, cmd := range known {
		if like := smetrics.JaroWinkler(name, cmd.Name, 0.7, 4); like > best {
			meant, best = fmt.Sprintf(" Did you mean %q?", cmd.Name), like
		}
	}
	return core.Errorf(core.CodeInvalid, name, "%s has no command %q.%s See %s --help", of, name, meant, of)
}

func commands() []*cli.Command {
	return []*cli.Command{
		demo.Command(), wiring.UpCommand(), join.Command(), request.RunCommand(), request.SubmitCommand(), request.HarnessCommand(),
		course.UserCommands(), course.ClassCommand(), course.AssignmentCommand(), course.ProblemCommand(), course.ExperimentCommand(), course.SubmissionCommand(), course.GradesCommand(),
		task.Command(), task.ScheduleCommand(), operator.AuditCommand(),
		access.LoginCommand(), access.LogoutCommand(), access.BackendCommand("whoami", "show which user you are, on the cluster or site that commands use", "", "drover whoami", nil, access.Whoami),
		request.Command(), request.BatchCommand(), operator.VMCommand(), operator.HostCommand(), operator.PoolCommand(), operator.TypeCommand(), operator.LeaseCommand(), operator.ImageCommand(), operator.WebhookCommand(), operator.LTICommand(), operator.StatsCommand(), operator.SimulateCommand(), doctor.Command(),
		wiring.TestrunnerCommand(), wiring.VmfactoryCommand(), wiring.TaskrunnerCommand(), wiring.OverseerCommand(), wiring.WebCommand(),
		bench.Command(), drillCommand(),
	}
}
