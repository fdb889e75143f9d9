// Command drover is the program of the cluster: its components, its client commands, and a whole cluster in one
// process. The package has the tree of commands and the start of the program.
package main

import (
	"context"
	"io"
	"os"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"drover/cmd/drover/access"
	"drover/cmd/drover/course"
	"drover/cmd/drover/demo"
	"drover/cmd/drover/doctor"
	"drover/cmd/drover/join"
	"drover/cmd/drover/operator"
	"drover/cmd/drover/request"
	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	_ "drover/core/agent/boot" // a VM's agent is this executable under another name
)

func main() {
	startCollector()
	unix.Umask(ownOnly)
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// ownOnly is the umask of the program: what it writes may hold secrets and people's work, so others read nothing unless
// a mode is set explicitly. The agent of a VM sets its own.
const ownOnly = 0o077

// run is the whole program, and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return terminal.Run(ctx, &cli.App{
		Name: "drover", Version: access.Version,
		Usage:    "run untrusted jobs, each in its own fresh container, on a cluster of hosts",
		Commands: commands(),
	}, args, stdin, stdout, stderr)
}

func commands() []*cli.Command {
	return []*cli.Command{
		demo.Command(), wiring.UpCommand(), join.Command(), request.RunCommand(), request.SubmitCommand(), request.HarnessCommand(),
		course.UserCommands(), course.ClassCommand(), course.AssignmentCommand(), course.ProblemCommand(), course.ExperimentCommand(), course.SubmissionCommand(), course.GradesCommand(),
		task.Command(), task.ScheduleCommand(), operator.AuditCommand(),
		access.LoginCommand(), access.LogoutCommand(), access.BackendCommand("whoami", "show which user you are, on the cluster or site that commands use", "", "drover whoami", nil, access.Whoami),
		request.Command(), request.BatchCommand(), operator.VMCommand(), operator.HostCommand(), operator.PoolCommand(), operator.TypeCommand(), operator.LeaseCommand(), operator.ImageCommand(), operator.WebhookCommand(), operator.LTICommand(), operator.StatsCommand(), doctor.Command(), operator.MigrateCommand(),
		wiring.TestrunnerCommand(), wiring.VmfactoryCommand(), wiring.TaskrunnerCommand(), wiring.OverseerCommand(), wiring.WebCommand(),
	}
}
