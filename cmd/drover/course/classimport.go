package course

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
)

func importRoster(c *cli.Context, d access.Backend) error {
	if c.Bool("undo") {
		return undoImport(c, d)
	}
	args, err := terminal.ExactArgs(c, "the class", "a CSV file, or - for the standard input")
	if err != nil {
		return err
	}
	class, err := d.FindClass(c.Context, args[0])
	if err != nil {
		return err
	}
	in, err := openIn(c, args[1])
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read from
	opts := classes.ImportOptions{DryRun: c.Bool("dry-run"), Names: c.Bool("names")}
	if text := c.String("columns"); text != "" {
		opts.Columns = strings.Split(text, ",")
	}
	done, err := d.ImportRoster(c.Context, class.Handle, in, opts)
	if err != nil && done.Rows == 0 {
		return err
	}
	if perr := printImported(c, class.Handle, done); perr != nil {
		return perr
	}
	if err == nil && done.Failed > 0 {
		return terminal.ExitCode(terminal.ExitUsage)
	}
	return err
}

// undoImport undoes the last import into a class.
func undoImport(c *cli.Context, d access.Backend) error {
	args, err := terminal.ExactArgs(c, "the class")
	if err != nil {
		return err
	}
	class, err := d.FindClass(c.Context, args[0])
	if err != nil {
		return err
	}
	done, err := d.UndoImport(c.Context, class.Handle)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, done)
	}
	_, err = fmt.Fprintf(c.App.Writer, "class %s: the last import is undone: %d dropped (%d users deleted), %d changed back; %d stay as somebody changed them since\n",
		class.Handle, done.Dropped, done.Deleted, done.Changed, done.Kept)
	return err
}

func printImported(c *cli.Context, class string, done classes.Imported) error {
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, done)
	}
	for _, t := range done.Troubles {
		fmt.Fprintf(c.App.ErrWriter, "drover: line %d: %s\n", t.Line, terminal.Clean(t.Text))
	}
	if left := done.Failed - len(done.Troubles); left > 0 {
		fmt.Fprintf(c.App.ErrWriter, "drover: and %d more lines\n", left)
	}
	did := "class %s: %d of %d lines done: %d enrolled (%d users made), %d changed, %d there already; %d wrong\n"
	if done.DryRun {
		did = "class %s, dry run: %d of %d lines are right: %d to enrol (%d users to make), %d to change, %d there already; %d wrong\n"
	}
	_, err := fmt.Fprintf(c.App.Writer, did, class, done.Rows-done.Failed-done.Skipped, done.Rows-done.Skipped, done.Enrolled, done.Created, done.Changed, done.Same, done.Failed)
	return err
}

// openIn opens a file to be read, or the standard input.
func openIn(c *cli.Context, path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(c.App.Reader), nil
	}
	// Before it is opened: opening a FIFO would wait for its writer.
	info, err := os.Stat(path)
	if err != nil {
		return nil, core.Wrap(err, core.CodeInvalid, path, "the file %s cannot be read", path)
	}
	if !info.Mode().IsRegular() {
		return nil, core.Errorf(core.CodeInvalid, path, "%s is not a plain file", path)
	}
	in, err := os.Open(path)
	return in, core.Wrap(err, core.CodeInvalid, path, "the file %s cannot be read", path)
}
