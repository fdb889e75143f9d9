package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
	"github.com/xrash/smetrics"

	"drover/core"
)

// Run runs a program, whose name and commands app has, and returns its exit code.
func Run(ctx context.Context, app *cli.App, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	app.Reader, app.Writer, app.ErrWriter = stdin, stdout, stderr
	app.Flags = SettingFlags()
	app.EnableBashCompletion, app.UseShortOptionHandling, app.Suggest = true, true, true
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = UsageError
	var unknown error
	app.CommandNotFound = func(c *cli.Context, name string) { unknown = unknownCommand(c, name) }
	err := app.RunContext(ctx, flagsFirst(app, args))
	if err == nil {
		err = unknown
	}
	if err == nil {
		return 0
	}
	var code ExitCode
	if errors.As(err, &code) {
		return int(code)
	}
	fmt.Fprintf(stderr, "%s: %s\n", app.Name, Clean(Remedied(err)))
	return CodeOf(err)
}

// unknownCommand suggests commands with similar names.
func unknownCommand(c *cli.Context, name string) error {
	known, of := c.App.Commands, c.App.Name
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
