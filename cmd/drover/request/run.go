package request

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/requests"
)

// RunCommand is drover run.
func RunCommand() *cli.Command {
	own := append([]cli.Flag{
		&cli.StringSliceFlag{Name: "file", Usage: "put the file `PATH` into the command's folder; repeatable"},
		&cli.StringSliceFlag{Name: "collect", Usage: "keep the file or folder `PATH` of the command's folder with the result, see drover request files; repeatable"},
		&cli.StringFlag{Name: "stdin", Usage: "give the command the file `PATH` as standard input, or - for drover's own"},
		&cli.StringSliceFlag{Name: "env", Usage: "set `NAME=VALUE` for the command; repeatable"},
		noWaitFlag(), rawFlag(), embeddedFlag(), access.AsFlag(),
	}, requestFlags()...)
	return &cli.Command{
		Name: "run", Usage: "run a command in a fresh VM", ArgsUsage: "-- CMD ARG...", OnUsageError: terminal.UsageError,
		Description: "Streams the command's output as it comes and exits with its exit code; 124 if it ran into its time\n" +
			"limit, 128 and the signal's number if a signal ended it, 130 if it was cancelled, 125 if drover could\n" +
			"not bring it to an end. Ctrl-C cancels it. With --no-wait prints the request's id at once, for drover request.\n" +
			"Example: drover run --stdin input.txt -- wc -l",
		Flags: terminal.WithSettings(append(own, terminal.JSONFlag()), "client"),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 && !c.IsSet("type") {
				return core.Errorf(core.CodeInvalid, "", "no command to run: drover run [flags] -- CMD ARG...")
			}
			if err := checkNoWait(c); err != nil {
				return err
			}
			return wiring.MaybeEmbedded(c, runOn)
		},
	}
}

// requestFlags are the flags of every command that makes a request.
func requestFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "type", Usage: "a request of the job `TYPE`, which says what is left out"},
		&cli.StringFlag{Name: "pool", Usage: "run it in a VM of `POOL`", Value: access.DefaultPool},
		&cli.StringFlag{Name: "priority", Usage: "its priority: `PRIORITY` high, normal or low", Value: string(core.PriorityNormal)},
		&cli.StringFlag{Name: "submitter", Usage: "on behalf of `NAME`; turns are fair between submitters", DefaultText: "who you are"},
		&cli.StringFlag{Name: "key", Usage: "an idempotency key: the same `KEY` again gets the first request"},
		&cli.DurationFlag{Name: "timeout", Usage: "most wall `TIME`, such as 2s or 1m30s", DefaultText: "the pool's"},
		&cli.StringFlag{Name: "on-host-loss", Usage: "what to do if its host is lost: `WHAT`; requeue runs it elsewhere, fail never runs it twice", DefaultText: "the pool's"},
		&cli.StringSliceFlag{Name: "notify", Usage: "notify the webhook `ID` when it ends; repeatable"},
		&cli.StringFlag{Name: "memory", Usage: "most memory, a `SIZE` such as 64MiB", DefaultText: "the pool's"},
		dryRunFlag(),
	}
}

func noWaitFlag() cli.Flag {
	return &cli.BoolFlag{Name: "no-wait", Usage: "print the request's id and do not wait for the result", DisableDefaultText: true}
}

// checkNoWait returns INVALID if nobody would be left to run the request.
func checkNoWait(c *cli.Context) error {
	if c.Bool("embedded") && c.Bool("no-wait") {
		return core.Errorf(core.CodeInvalid, "", "--embedded and --no-wait do not go together: the cluster ends with the command")
	}
	return nil
}

// sayRequested prints the id of a request that nobody waits for.
func sayRequested(c *cli.Context, v requests.View) error {
	return terminal.Say(c, map[string]any{"id": v.ID, "state": v.State}, "%s", v.ID)
}

func embeddedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "embedded", Usage: "need no cluster: run one for this command alone", DisableDefaultText: true}
}

// requestDraft starts a draft from the flags of requestFlags.
func requestDraft(c *cli.Context) (requests.Draft, error) {
	draft := requests.Draft{
		Type: c.String("type"), Pool: c.String("pool"), Priority: core.Priority(c.String("priority")), Idempotency: c.String("key"),
		Submitter: c.String("submitter"), OnHostLoss: c.String("on-host-loss"), Notify: c.StringSlice("notify"),
	}
	if draft.Type != "" && !c.IsSet("pool") { // it has its own
		draft.Pool = ""
	}
	if draft.Type != "" && !c.IsSet("priority") {
		draft.Priority = ""
	}
	if c.IsSet("timeout") {
		if draft.Limits.Timeout = c.Duration("timeout"); draft.Limits.Timeout <= 0 {
			return draft, core.Errorf(core.CodeInvalid, "timeout", "--timeout %s must be above 0", draft.Limits.Timeout)
		}
	}
	err := terminal.SizeFlag(c, "memory", &draft.Limits.Memory)
	if err == nil && c.IsSet("memory") && draft.Limits.Memory == 0 {
		err = core.Errorf(core.CodeInvalid, "memory", "--memory %s must be above 0", c.String("memory"))
	}
	return draft, err
}

func runOn(c *cli.Context, d access.Backend) error {
	draft, err := requestDraft(c)
	if err != nil {
		return err
	}
	stdin, err := openStdin(c)
	if err != nil {
		return err
	}
	if stdin != nil {
		defer stdin.Close() //nolint:errcheck // only read from
	}
	draft.Command, draft.Env, draft.Collect = c.Args().Slice(), c.StringSlice("env"), c.StringSlice("collect")
	draft.Files = commandFiles(c.StringSlice("file"), stdin)
	if err := checkUploads(draft.Files); err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return previewOn(c, d, draft)
	}
	v, err := d.SubmitRequest(c.Context, draft)
	if err != nil {
		return err
	}
	if c.Bool("no-wait") {
		return sayRequested(c, v)
	}
	f := NewFollower(d, v.ID).tells(c)
	f.embedded = c.Bool("embedded")
	if !c.Bool("json") {
		f.show(c)
	}
	if err := f.followOrCancel(c.Context); err != nil {
		return err
	}
	if v, err = ended(c.Context, d, v.ID); err != nil {
		return err
	}
	if c.Bool("json") {
		if err := terminal.PrintJSON(c.App.Writer, v); err != nil {
			return err
		}
	} else {
		sayOfResult(&v.Result, f.say)
	}
	return endOfRun(&v.Result, f.say)
}

// ended returns a request that has its result.
func ended(ctx context.Context, d access.Backend, id string) (requests.View, error) {
	v, err := d.ViewRequest(ctx, id)
	if err == nil && !v.State.Terminal() {
		err = core.Errorf(core.CodeConflict, id, "request %s runs again: drover request show %s", id, id)
	}
	return v, err
}

// sayOfResult prints what a result's output does not show.
func sayOfResult(r *core.Result, say func(string)) {
	if r.Truncated {
		say("the output went over its limit and was cut")
	}
	if len(r.Files) > 0 {
		say(fmt.Sprintf("kept %d of its files: drover request files --to FOLDER %s", len(r.Files), r.ID))
	}
	for _, one := range r.LeftOut {
		say(fmt.Sprintf("%s was not kept: %s", terminal.Clean(one.Path), terminal.Clean(one.Why)))
	}
}

// endOfRun returns a result's exit code, and prints what the code alone does not say.
func endOfRun(r *core.Result, say func(string)) error {
	if r.Reason != "" {
		say(fmt.Sprintf("request %s %s: %s", r.ID, r.State, terminal.Clean(r.Reason)))
	}
	code := r.ExitCode
	switch {
	case r.State == core.RequestTimedOut:
		code = terminal.ExitTimeout
	case r.State == core.RequestCancelled:
		code = terminal.ExitStopped
	case r.State == core.RequestDead || r.Blame == core.BlamePlatform:
		code = terminal.ExitPlatform
	case r.Signal != "":
		code = terminal.ExitSignal + int(unix.SignalNum(r.Signal))
	case r.State != core.RequestCompleted && code == 0:
		code = terminal.ExitFault
	}
	if code == 0 {
		return nil
	}
	return terminal.ExitCode(code)
}
