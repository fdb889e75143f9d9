package request

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/requests"
)

func requestFiles(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request")
	if err != nil {
		return err
	}
	v, err := d.ViewRequest(c.Context, id)
	if err != nil {
		return err
	}
	if !v.State.Terminal() {
		return core.Errorf(core.CodeConflict, id, "request %s has not ended: its files are collected then", id)
	}
	if err := requests.Expired(&v.Result); err != nil {
		return err
	}
	if to := c.String("to"); to != "" {
		open := func(ctx context.Context, f core.File) (io.ReadCloser, error) {
			_, content, err := d.OpenRequestFile(ctx, id, f.Path)
			return content, err
		}
		if err := Fetch(c.Context, open, v.Files, to); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"files": terminal.OrEmpty(v.Files), "left_out": terminal.OrEmpty(v.LeftOut)})
	}
	var rows []table.Row
	for _, f := range v.Files {
		rows = append(rows, table.Row{terminal.Clean(f.Path), terminal.Size(f.Size), f.Digest})
	}
	for _, one := range v.LeftOut {
		rows = append(rows, table.Row{terminal.Clean(one.Path), "", "not kept: " + terminal.Clean(one.Why)})
	}
	return terminal.PrintTable(c.App.Writer, "no files: name some with drover run --collect", table.Row{"file", "size", "digest"}, rows)
}

// opener opens one of the files that are to be fetched.
type opener func(ctx context.Context, f core.File) (io.ReadCloser, error)

// Fetch writes files to a new folder. Their paths come from a VM: they cannot lead out of the folder, and nothing is
// overwritten.
func Fetch(ctx context.Context, open opener, files []core.File, to string) error {
	if err := os.Mkdir(to, 0o750); err != nil {
		return core.Wrap(err, core.CodeInvalid, to, "the folder %s cannot be made: name one that is not there yet", to)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, to, "the folder %s cannot be used", to)
	}
	defer root.Close() //nolint:errcheck // nothing was written through it itself
	for _, f := range files {
		if err := fetchFile(ctx, open, root, f); err != nil {
			return core.Wrap(err, core.CodeOf(err), f.Path, "the file %s cannot be fetched to %s", terminal.Clean(f.Path), filepath.Clean(to))
		}
	}
	return nil
}

func fetchFile(ctx context.Context, open opener, root *os.Root, f core.File) error {
	if !fs.ValidPath(f.Path) {
		return fmt.Errorf("%q is no path within a folder", f.Path)
	}
	in, err := open(ctx, f)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	if err := root.MkdirAll(path.Dir(f.Path), 0o750); err != nil {
		return err
	}
	out, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(f.Mode)&0o755|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, f.Size))
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}
