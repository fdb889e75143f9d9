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

// PageFlags are those of long lists: newest first goes on before, by name after.
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

// SayMore tells a person how to see the next page, where this one is full.
func SayMore(c *cli.Context, listed, limit int, cursor, last string) {
	if listed == limit && !c.Bool("json") {
		fmt.Fprintf(c.App.ErrWriter, "drover: there may be more: --%s %s\n", cursor, last)
	}
}

// Page is how a list is shown, one page at a time.
type Page[T any] struct {
	Empty  string // what is said if there is nothing
	Header table.Row
	Row    func(one *T) table.Row
	Cursor string              // the flag by which the next page is asked for; "" if there is none
	Last   func(one *T) string // what that flag takes
}

// Print prints a page: JSON for programs; for people a table, and how to see the next one.
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

// Say prints a sentence, or for programs the thing that it is about.
func Say(c *cli.Context, v any, format string, args ...any) error {
	if c.Bool("json") {
		return PrintJSON(c.App.Writer, v)
	}
	_, err := io.WriteString(c.App.Writer, Clean(fmt.Sprintf(format, args...))+"\n") // a site may answer anything
	return err
}

// ExactArgs returns a command's arguments, which are named in words.
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

// JSONFlag is every client command's way to be read by programs.
func JSONFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print JSON for programs", DisableDefaultText: true}
}
