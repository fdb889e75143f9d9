package request

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/school"
)

// submitUsage says all ways to submit.
const submitUsage = "drover submit [flags] --harness DIR --submission PATH..., or drover submit [flags] --to CLASS/ASSIGNMENT PATH... (or --git URL)"

// gradingFlags are the flags for a submission without an assignment.
var gradingFlags = []string{
	"harness", "submission", "assignment", "supersede", "embedded", "type", "pool", "priority", "submitter", "timeout", "on-host-loss", "notify", "memory", "dry-run",
}

// checkSubmit refuses flags for what an assignment's own settings determine, and files beside a repository.
func checkSubmit(c *cli.Context) error {
	if !c.IsSet("to") {
		return core.Errorf(core.CodeInvalid, "", "--git and --ref need --to: name the assignment, as CLASS/ASSIGNMENT")
	}
	for _, name := range gradingFlags {
		if c.IsSet(name) {
			return core.Errorf(core.CodeInvalid, "", "--%s and --to do not go together: the assignment says how it is graded", name)
		}
	}
	switch {
	case c.IsSet("ref") && !c.IsSet("git"):
		return core.Errorf(core.CodeInvalid, "", "--ref needs --git: name the repository by its address")
	case c.IsSet("git") && c.Args().Present():
		return core.Errorf(core.CodeInvalid, "", "--git and files do not go together: submit the commit, or %.80s", strings.Join(c.Args().Slice(), " "))
	case !c.IsSet("git") && !c.Args().Present():
		return core.Errorf(core.CodeInvalid, "", "what is to be submitted? %s", submitUsage)
	}
	return nil
}

// submitTo submits files or a commit for an assignment, and waits for the report.
func submitTo(c *cli.Context, d access.Backend) error {
	files := Uploads(c.Args().Slice())
	if err := checkUploads(files); err != nil {
		return err
	}
	as, err := d.FindAssignment(c.Context, c.String("to"))
	if err != nil {
		return err
	}
	sub, err := submitDraft(c, d, classes.NewSubmission{
		Class: as.Class, Assignment: as.Handle, User: c.String("for"), Kind: kindFlag(c), Files: files, Idempotency: c.String("key"),
	})
	if err != nil {
		return err
	}
	if sub.Late && !c.Bool("json") {
		fmt.Fprintln(c.App.ErrWriter, "drover: it is late")
	}
	return AwaitReport(c, d, sub)
}

func submitDraft(c *cli.Context, d access.Backend, draft classes.NewSubmission) (school.Submission, error) {
	if !c.IsSet("git") {
		return d.Submit(c.Context, draft)
	}
	sub, err := d.SubmitGit(c.Context, draft, c.String("git"), c.String("ref"))
	if from := sub.Source; err == nil && from != nil && !c.Bool("json") {
		fmt.Fprintf(c.App.ErrWriter, "drover: it is commit %.12s of %s\n", from.Commit, terminal.Clean(from.Address))
	}
	return sub, err
}

// AwaitReport follows a submission's request, unless there is none or --no-wait was given, and prints the report.
func AwaitReport(c *cli.Context, d access.Backend, sub school.Submission) error {
	if c.Bool("no-wait") {
		return terminal.Say(c, sub, "%s", sub.ID)
	}
	if sub.Request == "" {
		return terminal.Say(c, sub, "submission %s to %s/%s is kept; it is not graded", sub.ID, sub.Class, sub.Assignment)
	}
	f := NewFollower(d, sub.Request).tells(c)
	f.cancel = func(ctx context.Context) error { _, err := d.CancelSubmission(ctx, sub.ID); return err }
	if err := f.followOrCancel(c.Context); err != nil {
		return err
	}
	v, err := d.ViewSubmission(c.Context, sub.ID)
	if err != nil {
		return err
	}
	if v.Result == nil {
		return core.Errorf(core.CodeConflict, sub.ID, "submission %s is being tested again: drover submission show %s", sub.ID, sub.ID)
	}
	if c.Bool("json") {
		err = terminal.PrintJSON(c.App.Writer, v)
	} else {
		err = PrintReport(c.App.Writer, v.Result)
	}
	return errors.Join(err, endOfGrading(v.Result))
}
