package terminal

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

// MostRows bounds a page of any list.
const MostRows = 1000

// PageFlags are the flags of long lists: before for lists by time, newest first, after for lists by name.
func PageFlags(cursor, what string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: cursor, Usage: "the page after the one that ended with " + what},
		&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 1000", Value: 100},
	}
}

// LimitFlag reads --limit.
func LimitFlag(c *cli.Context) (int, error) {
	n := c.Int("limit")
	if n < 1 || n > MostRows {
		return 0, core.Errorf(core.CodeInvalid, "", "--limit %d must be between 1 and %d", n, MostRows)
	}
	return n, nil
}

// SayMore prints how to see the next page, if this one is full.
func SayMore(c *cli.Context, listed, limit int, cursor, last string) {
	if listed == limit && !c.Bool("json") {
		fmt.Fprintf(c.App.ErrWriter, "drover: there may be more: --%s %s\n", cursor, last)
	}
}

// Page describes how a list is printed, one page at a time.
type Page[T any] struct {
	Empty  string // printed if there is nothing
	Header table.Row
	Row    func(one *T) table.Row
	Cursor string              // the flag for the next page; "" if there is none
	Last   func(one *T) string // the value of that flag after an item
}

// Print prints a page: JSON for programs, a table for people, with how to see the next one.
func (p Page[T]) Print(c *cli.Context, all []T) error {
	if c.Bool("json") {
		return PrintJSON(c.App.Writer, OrEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i := range all {
		rows[i] = p.Row(&all[i])
	}
	if p.Cursor != "" && len(all) > 0 {
		SayMore(c, len(all), c.Int("limit"), p.Cursor, p.Last(&all[len(all)-1]))
	}
	return PrintTable(c.App.Writer, p.Empty, p.Header, rows)
}

// Say prints a sentence, or with --json the object that it is about.
func Say(c *cli.Context, v any, format string, args ...any) error {
	if c.Bool("json") {
		return PrintJSON(c.App.Writer, v)
	}
	_, err := io.WriteString(c.App.Writer, Clean(fmt.Sprintf(format, args...))+"\n") // a site may answer anything
	return err
}

// ExactArgs returns a command's arguments; what names them for errors.
func ExactArgs(c *cli.Context, what ...string) ([]string, error) {
	if c.NArg() == len(what) {
		return c.Args().Slice(), nil
	}
	text := ""
	for i, one := range what {
		switch {
		case i == 0:
		case i == len(what)-1:
			text += " and "
		default:
			text += ", "
		}
		text += one
	}
	return nil, core.Errorf(core.CodeInvalid, "", "%s takes %d arguments, %s: see its --help", c.Command.HelpName, len(what), text)
}

// JSONFlag is the flag of every client command for output to programs.
func JSONFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON for programs", DisableDefaultText: true}
}
