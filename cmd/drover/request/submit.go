package request

import (
	"errors"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/harness"
	"drover/core/requests"
)

// SubmitCommand is drover submit.
func SubmitCommand() *cli.Command {
	own := append([]cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "submit for the assignment `CLASS/ASSIGNMENT`, which says how it is graded; mine/ASSIGNMENT looks in your own classes"},
		&cli.StringFlag{Name: "for", Usage: "with --to, by teaching staff: on behalf of the user `HANDLE`"},
		&cli.StringFlag{Name: "git", Usage: "with --to, in place of files: a commit of the public repository at the address `URL`, such as https://github.com/ann/hw1"},
		&cli.StringFlag{Name: "ref", Usage: "with --git: its branch, tag or commit `NAME`", DefaultText: "the default branch"},
		access.AsFlag(),
		&cli.StringFlag{Name: "harness", Usage: "grade by the harness in the folder, or the tar or zip of one, `DIR`"},
		&cli.StringSliceFlag{Name: "submission", Usage: "a file of the submission, or a folder of them: `PATH`; repeatable"},
		&cli.StringFlag{Name: "assignment", Usage: "what it is submitted for: `NAME`"},
		&cli.BoolFlag{Name: "supersede", Usage: "withdraw the submitter's older waiting request for the same assignment", DisableDefaultText: true},
		&cli.BoolFlag{Name: "final", Usage: "run the harness's final actions too", DisableDefaultText: true},
		noWaitFlag(), embeddedFlag(),
	}, requestFlags()...)
	return &cli.Command{
		Name: "submit", Usage: "submit for an assignment, or grade a submission by a harness", UsageText: submitUsage, OnUsageError: terminal.UsageError,
		Description: "Exits with 0 if the submission was graded, whatever its score, and not 0 if it could not be.\n" +
			"Example: drover submit --as ann --to cs101/hw1 main.py",
		Flags: terminal.WithSettings(append(own, terminal.JSONFlag()), "client"),
		Action: func(c *cli.Context) error {
			if c.IsSet("to") || c.IsSet("git") || c.IsSet("ref") {
				if err := checkSubmit(c); err != nil {
					return err
				}
				return access.WithBackend(submitTo)(c)
			}
			if err := terminal.NoArgs(c); err != nil {
				return err
			}
			if c.String("harness") == "" && !c.IsSet("type") || len(c.StringSlice("submission")) == 0 {
				return core.Errorf(core.CodeInvalid, "", "what is to be graded, and by what? %s", submitUsage)
			}
			if err := checkNoWait(c); err != nil {
				return err
			}
			return wiring.MaybeEmbedded(c, submitOn)
		},
	}
}

func submitOn(c *cli.Context, d access.Backend) error {
	draft, err := requestDraft(c)
	if err != nil {
		return err
	}
	draft.Assignment, draft.Supersede = c.String("assignment"), c.Bool("supersede")
	if dir := c.String("harness"); dir == "" { // its type has one
		draft.Files = Uploads(c.StringSlice("submission"))
		err = checkUploads(draft.Files)
	} else {
		err = GradingDraft(&draft, dir, c.StringSlice("submission"), kindFlag(c))
	}
	if err != nil {
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
	if err := f.followOrCancel(c.Context); err != nil {
		return err
	}
	if v, err = ended(c.Context, d, v.ID); err != nil {
		return err
	}
	if c.Bool("json") {
		err = terminal.PrintJSON(c.App.Writer, v)
	} else {
		err = PrintReport(c.App.Writer, &v.Result)
	}
	return errors.Join(err, endOfGrading(&v.Result))
}

// kindFlag says which of a harness's actions are asked for.
func kindFlag(c *cli.Context) string {
	if c.Bool("final") {
		return harness.TestFinal
	}
	return harness.TestPublic
}

// endOfGrading is nil for a submission that was graded.
func endOfGrading(r *core.Result) error {
	switch {
	case r.State == core.RequestCancelled:
		return terminal.ExitCode(terminal.ExitStopped)
	case r.State == core.RequestDead || r.Blame == core.BlamePlatform:
		return terminal.ExitCode(terminal.ExitPlatform)
	case r.Blame == core.BlameHarness:
		return terminal.ExitCode(terminal.ExitFault)
	}
	return nil
}

// GradingDraft puts a harness and what is to be graded by it into a draft.
func GradingDraft(draft *requests.Draft, dir string, submission []string, kind string) error {
	pack, err := harness.Pack(dir)
	if err != nil {
		return err
	}
	draft.Input, draft.Files = harness.NewInput(pack.Config, kind), gradedFiles(&pack, submission)
	return checkUploads(draft.Files)
}
