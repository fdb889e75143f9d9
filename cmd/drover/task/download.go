package task

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// FetchFlags are those of commands that write a file which a task made.
func FetchFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "to", Usage: "write it to `FILE`, or - for standard output", DefaultText: "its own name, in this folder"},
		&cli.BoolFlag{Name: "force", Usage: "write over a file that is there", DisableDefaultText: true},
	}
}

func fetchTask(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "task id")
	if err != nil {
		return err
	}
	return FetchDownload(c, d, id)
}

// fetched is the output of --json for a fetched file.
type fetched struct {
	Task string `json:"task"`
	File string `json:"file"`
	core.Download
}

// FetchDownload writes the file that a task made to the path of --to.
func FetchDownload(c *cli.Context, d access.Backend, id string) error {
	made, content, err := d.OpenDownload(c.Context, id)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read from
	to := c.String("to")
	if to == "-" {
		return copyWhole(c.App.Writer, content, made)
	}
	if to == "" {
		to = filepath.Base(made.Name)
	}
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, filepath.Base(made.Name))
	}
	if err := writeWhole(c.Context, to, c.Bool("force"), content, made); err != nil {
		return err
	}
	return terminal.Say(c, fetched{id, to, made}, "%s: %s", to, terminal.Size(made.Size))
}

// copyWhole copies exactly the bytes of a download, which the store verifies as it is read.
func copyWhole(to io.Writer, content io.Reader, d core.Download) error {
	n, err := io.Copy(to, io.LimitReader(content, d.Size+1))
	if err == nil && n != d.Size {
		err = fmt.Errorf("it has %d bytes instead of %d: %w", n, d.Size, core.ErrDamaged)
	}
	return core.Wrap(err, core.CodeInternal, d.Digest, "the file %s cannot be fetched whole", d.Name)
}

// FreeTarget refuses, before any work is done, a --to that could not be written in the end.
func FreeTarget(c *cli.Context) error {
	to := c.String("to")
	if to == "" || to == "-" || c.Bool("force") {
		return nil
	}
	if info, err := os.Lstat(to); err == nil && !info.IsDir() {
		return alreadyThere(to)
	}
	if _, err := os.Stat(filepath.Dir(to)); err != nil {
		return core.Wrap(err, core.CodeInvalid, to, "the file %s cannot be written", to)
	}
	return nil
}

// writeWhole writes a file atomically.
func writeWhole(ctx context.Context, path string, force bool, content io.Reader, d core.Download) (err error) {
	if _, err := os.Lstat(path); err == nil && !force {
		return alreadyThere(path)
	}
	part, err := os.CreateTemp(filepath.Dir(path), ".drover-*")
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, path, "the file %s cannot be written", path)
	}
	defer func() {
		if left := os.Remove(part.Name()); left != nil && !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
	}()
	err = errors.Join(copyWhole(part, content, d), part.Chmod(0o600), part.Close(), ctx.Err())
	if err != nil {
		return err
	}
	if force {
		return core.Wrap(os.Rename(part.Name(), path), core.CodeInvalid, path, "the file %s cannot be written", path)
	}
	if err := os.Link(part.Name(), path); errors.Is(err, fs.ErrExist) {
		return alreadyThere(path)
	} else if err != nil { // a file system without links
		return core.Wrap(os.Rename(part.Name(), path), core.CodeInvalid, path, "the file %s cannot be written", path)
	}
	return nil
}

func alreadyThere(path string) error {
	return core.Errorf(core.CodeConflict, path, "%s is there already: name another file with --to, or write over it with --force", path)
}
