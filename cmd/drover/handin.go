package main

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/coursework"
	"drover/core/harness"
)

// submitUsage says both ways to submit.
const submitUsage = "drover submit [flags] --harness DIR --submission PATH..., or drover submit [flags] --to CLASS/ASSIGNMENT PATH..."

// gradingFlags are those of a submission that is graded without an assignment.
var gradingFlags = []string{
	"harness", "submission", "assignment", "supersede", "embedded", "pool", "class", "submitter", "timeout", "on-host-loss", "notify", "memory",
}

// checkHandin refuses flags that an assignment's own settings take the place of.
func checkHandin(c *cli.Context) error {
	for _, name := range gradingFlags {
		if c.IsSet(name) {
			return core.Errorf(core.CodeInvalid, "", "--%s and --to do not go together: the assignment says how it is graded", name)
		}
	}
	if !c.Args().Present() {
		return core.Errorf(core.CodeInvalid, "", "what is to be handed in? %s", submitUsage)
	}
	return nil
}

// handIn hands in files for an assignment and waits for the report.
func handIn(c *cli.Context, s *session) error {
	as, err := s.FindAssignment(c.Context, c.String("to"))
	if err != nil {
		return err
	}
	kind := harness.TestPublic
	if c.Bool("final") {
		kind = harness.TestFinal
	}
	sub, err := s.Submit(c.Context, coursework.Handin{
		Class: as.Class, Assignment: as.Handle, User: c.String("for"), Kind: kind, Files: uploads(c.Args().Slice()), Idempotency: c.String("key"),
	})
	if err != nil {
		return err
	}
	if sub.Late && !c.Bool("json") {
		fmt.Fprintln(c.App.ErrWriter, "drover: it is late")
	}
	return s.awaitReport(c, sub)
}

// awaitReport follows a submission's request, if it has one and somebody waits, and prints the report.
func (s *session) awaitReport(c *cli.Context, sub core.Submission) error {
	if c.Bool("no-wait") {
		return say(c, sub, "%s", sub.ID)
	}
	if sub.Request == "" {
		return say(c, sub, "submission %s to %s/%s is kept; it is not graded", sub.ID, sub.Class, sub.Assignment)
	}
	row, err := s.store.Get(c.Context, sub.Request)
	if err != nil {
		return err
	}
	f := newFollower(s.herd, row)
	f.notice = func(text string) { fmt.Fprintln(c.App.ErrWriter, "drover: "+text) }
	if _, err := f.followOrCancel(c.Context); err != nil {
		return err
	}
	v, err := s.ViewSubmission(c.Context, sub.ID)
	if err != nil {
		return err
	}
	if v.Result == nil {
		return core.Errorf(core.CodeConflict, sub.ID, "submission %s is being tested again: drover submission show %s", sub.ID, sub.ID)
	}
	if c.Bool("json") {
		err = printJSON(c.App.Writer, v)
	} else {
		err = printReport(c.App.Writer, v.Result)
	}
	return errors.Join(err, endOfGrading(v.Result))
}

// uploads opens files, or all files of folders under their paths there, one after the other.
func uploads(paths []string) iter.Seq2[coursework.Upload, error] {
	return func(yield func(coursework.Upload, error) bool) {
		for _, root := range paths {
			err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
				if err != nil {
					return core.Wrap(err, core.CodeInvalid, at, "%s cannot be read", at)
				}
				if d.IsDir() {
					return nil
				}
				return upload(root, at, yield)
			})
			if errors.Is(err, fs.SkipAll) {
				return
			}
			if err != nil {
				yield(coursework.Upload{}, err)
				return
			}
		}
	}
}

// upload yields one file; SkipAll if no more are wanted.
func upload(root, at string, yield func(coursework.Upload, error) bool) error {
	// Before it is opened: opening a FIFO would wait for its writer. A link that was
	// named is followed, one in a folder is not.
	stat := os.Lstat
	if at == root {
		stat = os.Stat
	}
	info, err := stat(at)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, at, "%s cannot be read", at)
	}
	if info.IsDir() {
		return core.Errorf(core.CodeInvalid, at, "%s is a link to a folder: name the folder itself, as %s/", at, at)
	}
	if !info.Mode().IsRegular() {
		return core.Errorf(core.CodeInvalid, at, "%s is not a plain file: a submission has no links, sockets or devices", at)
	}
	name, err := filepath.Rel(root, at)
	if err != nil || at == root {
		name = filepath.Base(at)
	}
	in, err := os.Open(at)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, at, "%s cannot be read", at)
	}
	defer in.Close() //nolint:errcheck // only read from
	if !yield(coursework.Upload{Path: path.Clean(filepath.ToSlash(name)), Mode: uint32(info.Mode().Perm()), Content: in}, nil) {
		return fs.SkipAll
	}
	return nil
}
