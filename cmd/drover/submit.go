package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/harness"
)

func submitCommand() *cli.Command {
	own := append([]cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "hand in for the assignment `CLASS/ASSIGNMENT`, which says how it is graded; mine/ASSIGNMENT looks in your own classes"},
		&cli.StringFlag{Name: "for", Usage: "with --to: for the user `HANDLE`, by who teaches there"},
		asFlag(),
		&cli.StringFlag{Name: "harness", Usage: "grade by the harness in the folder `DIR`"},
		&cli.StringSliceFlag{Name: "submission", Usage: "a file of the submission, or a folder of them: `PATH`; repeatable"},
		&cli.StringFlag{Name: "assignment", Usage: "what it is handed in for: `NAME`"},
		&cli.BoolFlag{Name: "supersede", Usage: "withdraw the submitter's older waiting request for the same assignment", DisableDefaultText: true},
		&cli.BoolFlag{Name: "final", Usage: "run the harness's final actions too", DisableDefaultText: true},
		&cli.BoolFlag{Name: "no-wait", Usage: "print the request's id and do not wait for the result", DisableDefaultText: true},
		embeddedFlag(),
	}, requestFlags()...)
	return &cli.Command{
		Name: "submit", Usage: "hand in for an assignment, or grade a submission by a harness", UsageText: submitUsage, OnUsageError: usageError,
		Description: "Exits with 0 if the submission was graded, whatever its score, and not 0 if it could not be.\n" +
			"Example: drover submit --as ann --to cs101/hw1 main.py",
		Flags: withSettings(append(own, jsonFlag())),
		Action: func(c *cli.Context) error {
			if c.IsSet("to") {
				if err := checkHandin(c); err != nil {
					return err
				}
				return client(asUser(handIn))(c)
			}
			if err := noArgs(c); err != nil {
				return err
			}
			if c.String("harness") == "" || len(c.StringSlice("submission")) == 0 {
				return core.Errorf(core.CodeInvalid, "", "what is to be graded, and by what? %s", submitUsage)
			}
			if c.Bool("embedded") && c.Bool("no-wait") {
				return core.Errorf(core.CodeInvalid, "", "--embedded and --no-wait do not go together: the herd ends with the command")
			}
			return withHerd(c, c.Bool("embedded"), submitInHerd)
		},
	}
}

func submitInHerd(c *cli.Context, h *herd) error {
	spec, err := requestSpec(c)
	if err != nil {
		return err
	}
	spec.Assignment, spec.Supersede = c.String("assignment"), c.Bool("supersede")
	kind := harness.TestPublic
	if c.Bool("final") {
		kind = harness.TestFinal
	}
	if err := gradingSpec(c.Context, h.blobs, &spec, c.String("harness"), c.StringSlice("submission"), kind); err != nil {
		return err
	}
	row, _, err := h.intake.Submit(c.Context, spec)
	if err != nil {
		return err
	}
	if c.Bool("no-wait") {
		if c.Bool("json") {
			return printJSON(c.App.Writer, map[string]any{"id": row.Spec.ID, "state": row.State})
		}
		_, err := fmt.Fprintln(c.App.Writer, row.Spec.ID)
		return err
	}
	f := newFollower(h, row)
	f.notice = func(text string) { fmt.Fprintln(c.App.ErrWriter, "drover: "+text) }
	result, err := f.followOrCancel(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		v, err := h.desk().View(c.Context, operator(), row.Spec.ID)
		err = errors.Join(err, printJSON(c.App.Writer, v))
		if err != nil {
			return err
		}
	} else if err := printReport(c.App.Writer, result); err != nil {
		return err
	}
	return endOfGrading(result)
}

// endOfGrading is nil for a submission that was graded.
func endOfGrading(r *core.Result) error {
	switch {
	case r.State == core.RequestCancelled:
		return exitCode(exitStopped)
	case r.State == core.RequestDead || r.Blame == core.BlamePlatform:
		return exitCode(exitPlatform)
	case r.Blame == core.BlameHarness:
		return exitCode(exitFault)
	}
	return nil
}

// gradingSpec stores a harness and a submission and names them in a spec.
func gradingSpec(ctx context.Context, blobs core.Blobs, spec *core.Spec, dir string, submission []string, kind string) error {
	pack, err := harness.Pack(dir)
	if err != nil {
		return err
	}
	digest, n, err := blobs.Put(ctx, bytes.NewReader(pack.Tar), harness.MaxPackBytes)
	if err != nil {
		return core.Wrap(err, core.CodeOf(err), dir, "the harness %s cannot be stored", dir)
	}
	spec.Harness = &core.File{Path: harness.TarFile, Digest: digest, Size: n}
	spec.Input = harness.NewInput(pack.Config, kind)
	for _, p := range submission {
		files, err := putTree(ctx, blobs, p)
		if err != nil {
			return err
		}
		spec.Files = append(spec.Files, files...)
	}
	return nil
}

// putTree stores a file, or all files of a folder under their paths in it.
func putTree(ctx context.Context, blobs core.Blobs, root string) ([]core.File, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, root, "the submission %s cannot be read", root)
	}
	if !info.IsDir() {
		return putFiles(ctx, blobs, []string{root})
	}
	var files []core.File
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if len(files) == core.MaxFiles {
			return core.Errorf(core.CodeLimit, root, "the submission %s has more than %d files: hand in a smaller folder", root, core.MaxFiles)
		}
		if !d.Type().IsRegular() {
			return core.Errorf(core.CodeInvalid, at, "%s is not a plain file: a submission has no links, sockets or devices", at)
		}
		f, err := putFile(ctx, blobs, at)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, at)
		f.Path = path.Clean(filepath.ToSlash(rel))
		files = append(files, f)
		return err
	})
	return files, err
}
