package course

import (
	"context"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// assignmentFiles lists what an assignment has for students, or writes it to a folder.
func assignmentFiles(c *cli.Context, d access.Backend) error {
	as, err := assignmentArg(c, d)
	if err != nil {
		return err
	}
	files, err := d.Handout(c.Context, as.Class, as.Handle)
	if err != nil {
		return err
	}
	if to := c.String("to"); to != "" {
		open := func(ctx context.Context, f core.File) (io.ReadCloser, error) {
			_, content, err := d.OpenHandout(ctx, as.Class, as.Handle, f.Path)
			return content, err
		}
		if err := request.Fetch(c.Context, open, files, to); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(files))
	}
	rows := make([]table.Row, len(files))
	for i, f := range files {
		rows[i] = table.Row{terminal.Clean(f.Path), terminal.Size(f.Size)}
	}
	return terminal.PrintTable(c.App.Writer, "no files", table.Row{"file", "size"}, rows)
}
