package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"drover/core"
)

// maxFileBytes bounds one file that a client sends.
const maxFileBytes = 64 << 20

func runCommand() *cli.Command {
	own := append([]cli.Flag{
		&cli.StringSliceFlag{Name: "file", Usage: "put the file `PATH` into the command's folder; repeatable"},
		&cli.StringSliceFlag{Name: "collect", Usage: "keep the file or folder `PATH` of the command's folder with the result, see drover request files; repeatable"},
		&cli.StringFlag{Name: "stdin", Usage: "give the command the file `PATH` as standard input, or - for drover's own"},
		&cli.StringSliceFlag{Name: "env", Usage: "set `NAME=VALUE` for the command; repeatable"},
		rawFlag(), embeddedFlag(),
	}, requestFlags()...)
	return &cli.Command{
		Name: "run", Usage: "run a command in a fresh VM", ArgsUsage: "-- CMD ARG...", OnUsageError: usageError,
		Description: "Streams the command's output as it comes and exits with its exit code; 124 if it ran into its time\n" +
			"limit, 128 and the signal's number if a signal ended it, 130 if it was cancelled, 125 if drover could\n" +
			"not bring it to an end. Ctrl-C cancels it.",
		Flags: withSettings(append(own, jsonFlag())),
		Action: func(c *cli.Context) error {
			if c.NArg() == 0 {
				return core.Errorf(core.CodeInvalid, "", "no command to run: drover run [flags] -- CMD ARG...")
			}
			return withHerd(c, c.Bool("embedded"), runInHerd)
		},
	}
}

// requestFlags are those of every command that makes a request.
func requestFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "pool", Usage: "run it in a VM of `POOL`", Value: defaultPool},
		&cli.StringFlag{Name: "class", Usage: "its weight: `CLASS` high, normal or low", Value: string(core.ClassNormal)},
		&cli.StringFlag{Name: "submitter", Usage: "on behalf of `NAME`; turns are fair between submitters", DefaultText: "who you are"},
		&cli.StringFlag{Name: "key", Usage: "an idempotency key: the same `KEY` again gets the first request"},
		&cli.DurationFlag{Name: "timeout", Usage: "most wall `TIME`, such as 2s or 1m30s", DefaultText: "the pool's"},
		&cli.StringFlag{Name: "on-host-loss", Usage: "if the host is lost that runs it: `WHAT` requeue runs it again elsewhere, fail never runs it twice", DefaultText: "the pool's"},
		&cli.StringSliceFlag{Name: "notify", Usage: "tell the webhook `ID` of its end; repeatable"},
		&cli.StringFlag{Name: "memory", Usage: "most memory, a `SIZE` such as 64MiB", DefaultText: "the pool's"},
	}
}

func embeddedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "embedded", Usage: "need no herd: run one for this command alone", DisableDefaultText: true}
}

// requestSpec starts a spec from the flags of requestFlags.
func requestSpec(c *cli.Context) (core.Spec, error) {
	spec := core.Spec{
		Pool: c.String("pool"), Class: core.Class(c.String("class")), Idempotency: c.String("key"),
		Submitter: cmp.Or(c.String("submitter"), submitterName()), OnHostLoss: c.String("on-host-loss"), Notify: c.StringSlice("notify"),
	}
	if c.IsSet("timeout") {
		if spec.Limits.Timeout = c.Duration("timeout"); spec.Limits.Timeout <= 0 {
			return spec, core.Errorf(core.CodeInvalid, "timeout", "--timeout %s must be above 0", spec.Limits.Timeout)
		}
	}
	err := sizeFlag(c, "memory", &spec.Limits.Memory)
	if err == nil && c.IsSet("memory") && spec.Limits.Memory == 0 {
		err = core.Errorf(core.CodeInvalid, "memory", "--memory %s must be above 0", c.String("memory"))
	}
	return spec, err
}

// submitterName makes a valid name of who types the command.
func submitterName() string {
	name := []byte{}
	for _, b := range []byte(person()) {
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b >= 'a' && b <= 'z' || b >= '0' && b <= '9' {
			name = append(name, b)
		}
	}
	return cmp.Or(string(name[:min(len(name), core.MaxNameLen)]), "somebody")
}

func runInHerd(c *cli.Context, h *herd) error {
	spec, err := requestSpec(c)
	if err != nil {
		return err
	}
	spec.Command, spec.Env, spec.Collect = c.Args().Slice(), c.StringSlice("env"), c.StringSlice("collect")
	if spec.Files, err = putFiles(c.Context, h.blobs, c.StringSlice("file")); err != nil {
		return err
	}
	if spec.Stdin, err = putStdin(c, h.blobs); err != nil {
		return err
	}
	row, _, err := h.intake.Submit(c.Context, spec)
	if err != nil {
		return err
	}
	say := func(text string) { fmt.Fprintln(c.App.ErrWriter, "drover: "+text) }
	f := newFollower(h, row)
	f.notice = say
	if !c.Bool("json") {
		f.show(c)
	}
	result, err := f.followOrCancel(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		v, err := h.desk().View(c.Context, operator(), row.Spec.ID)
		if err := errors.Join(err, printJSON(c.App.Writer, v)); err != nil {
			return err
		}
	} else {
		sayOfResult(result, say)
	}
	return endOfRun(result, say)
}

// sayOfResult says what of a result its output does not show.
func sayOfResult(r *core.Result, say func(string)) {
	if r.Truncated {
		say("the output went over its limit and was cut")
	}
	if len(r.Files) > 0 {
		say(fmt.Sprintf("kept %d of its files: drover request files --to FOLDER %s", len(r.Files), r.ID))
	}
	for _, one := range r.LeftOut {
		say(fmt.Sprintf("%s was not kept: %s", clean(one.Path), clean(one.Why)))
	}
}

// endOfRun makes an exit code of a result, and a sentence of what it alone does not say.
func endOfRun(r *core.Result, say func(string)) error {
	if r.Reason != "" {
		say(fmt.Sprintf("request %s %s: %s", r.ID, r.State, clean(r.Reason)))
	}
	code := r.ExitCode
	switch {
	case r.State == core.RequestTimedOut:
		code = exitTimeout
	case r.State == core.RequestCancelled:
		code = exitStopped
	case r.State == core.RequestDead || r.Blame == core.BlamePlatform:
		code = exitPlatform
	case r.Signal != "":
		code = exitSignal + int(unix.SignalNum(r.Signal))
	case r.State != core.RequestCompleted && code == 0:
		code = exitFault
	}
	if code == 0 {
		return nil
	}
	return exitCode(code)
}

func putFiles(ctx context.Context, blobs core.Blobs, paths []string) ([]core.File, error) {
	var files []core.File
	for _, path := range paths {
		f, err := putFile(ctx, blobs, path)
		if err != nil {
			return nil, err
		}
		f.Path = filepath.Base(path)
		files = append(files, f)
	}
	return files, nil
}

// putFile stores one file of this machine.
func putFile(ctx context.Context, blobs core.Blobs, path string) (core.File, error) {
	// Before it is opened: opening a FIFO would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return core.File{}, core.Wrap(err, core.CodeInvalid, path, "the file %s cannot be read", path)
	}
	if !info.Mode().IsRegular() {
		return core.File{}, core.Errorf(core.CodeInvalid, path, "%s is not a plain file", path)
	}
	in, err := os.Open(path)
	if err != nil {
		return core.File{}, core.Wrap(err, core.CodeInvalid, path, "the file %s cannot be read", path)
	}
	defer in.Close() //nolint:errcheck // only read from
	digest, n, err := blobs.Put(ctx, in, maxFileBytes)
	if err != nil {
		return core.File{}, core.Wrap(err, core.CodeOf(err), path, "the file %s cannot be stored", path)
	}
	return core.File{Digest: digest, Size: n, Mode: uint32(info.Mode().Perm())}, nil
}

func putStdin(c *cli.Context, blobs core.Blobs) (*core.File, error) {
	switch path := c.String("stdin"); path {
	case "":
		return nil, nil //nolint:nilnil // no standard input is no fault
	case "-":
		digest, n, err := blobs.Put(c.Context, c.App.Reader, maxFileBytes)
		if err != nil {
			return nil, core.Wrap(err, core.CodeOf(err), "", "the standard input cannot be stored")
		}
		return &core.File{Path: "stdin", Digest: digest, Size: n}, nil
	default:
		f, err := putFile(c.Context, blobs, path)
		f.Path = "stdin"
		return &f, err
	}
}
