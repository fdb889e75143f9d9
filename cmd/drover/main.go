// Command drover is the one program of the cluster: its components, its client
// commands, and a whole cluster in one process. Here flags become settings, parts
// are wired together, and errors become exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"drover/core"
	_ "drover/core/agent/boot" // a VM's agent is this executable under another name
)

// version is set by the build.
var version = "dev"

// Exit codes of drover itself. A run's command has its own.
const (
	exitFault     = 1   // something failed
	exitUsage     = 2   // wrong flags, arguments or settings
	exitNotFound  = 3   // no such request, pool or host
	exitRefused   = 4   // the state or a limit does not allow it; later it may
	exitNoCluster = 5   // Redis or the store cannot be reached
	exitTimeout   = 124 // a run's time limit, as timeout(1) says it
	exitPlatform  = 125 // a run that drover itself could not bring to an end
	exitStopped   = 130 // cancelled, as a shell says it of Ctrl-C
	exitSignal    = 128 // plus the number of the signal that ended a run
)

// gcPercent lets the heap, which is small, grow further between collections: a busy
// runner otherwise collects some hundred times a second. GOGC in the environment wins.
const gcPercent = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program, and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app := &cli.App{
		Name: "drover", Version: version,
		Usage:    "run untrusted jobs, each in its own fresh container, on a cluster of hosts",
		Commands: commands(),
		Reader:   stdin, Writer: stdout, ErrWriter: stderr,
		Flags:                  settingFlags(),
		EnableBashCompletion:   true,
		UseShortOptionHandling: true,
		Suggest:                true,
		ExitErrHandler:         func(*cli.Context, error) {},
		OnUsageError:           usageError,
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
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(stderr, "drover: %s\n", clean(err.Error()))
	return codeOf(err)
}

// unknownCommand says what may have been meant.
func unknownCommand(c *cli.Context, name string) error {
	known, of := c.App.Commands, "drover"
	if c.Command != nil && len(c.Command.Subcommands) > 0 {
		known, of = c.Command.Subcommands, c.Command.HelpName
	}
	const close = 0.8 // of 1; catches a slip or two, not another word
	meant, best := "", close
	for _, cmd := range known {
		if like := smetrics.JaroWinkler(name, cmd.Name, 0.7, 4); like > best {
			meant, best = fmt.Sprintf(" Did you mean %q?", cmd.Name), like
		}
	}
	return core.Errorf(core.CodeInvalid, name, "%s has no command %q.%s See %s --help", of, name, meant, of)
}

// exitCode ends the program with a code and no message: all was said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func codeOf(err error) int {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeLimit:
		return exitUsage
	case core.CodeNotFound:
		return exitNotFound
	case core.CodeConflict, core.CodeEnded, core.CodeFull, core.CodeBusy, core.CodeForbidden:
		return exitRefused
	case core.CodeUnavailable, core.CodeVersion:
		return exitNoCluster
	case core.CodeStale, core.CodeFenced, core.CodeBadVM, core.CodeInternal:
		return exitFault
	}
	return exitFault
}

func usageError(c *cli.Context, err error, _ bool) error {
	return core.Errorf(core.CodeInvalid, "", "%v; see %s --help", err, c.Command.HelpName)
}

func commands() []*cli.Command {
	return []*cli.Command{
		demoCommand(), upCommand(), runCommand(), submitCommand(), harnessCommand(),
		userCommands(), classCommand(), assignmentCommand(), experimentCommand(), submissionCommand(), gradesCommand(),
		taskCommand(), scheduleCommand(), auditCommand(),
		loginCommand(), logoutCommand(), backendCommand("whoami", "say who you are to the cluster or the site that commands ask", "", "drover whoami", nil, whoami),
		requestCommand(), vmCommand(), hostCommand(), poolCommand(), imageCommand(), webhookCommand(), doctorCommand(),
		testrunnerCommand(), vmfactoryCommand(), taskrunnerCommand(), overseerCommand(), webCommand(),
		benchCommand(), drillCommand(),
	}
}
