package main

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/core"
)

// mostRows bounds a page of any list.
const mostRows = 1000

// pageFlags are those of long lists: newest first goes on before, by name after.
func pageFlags(cursor, what string) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: cursor, Usage: "the page after the one that ended with " + what},
		&cli.IntFlag{Name: "limit", Usage: "most to list, 1 to 1000", Value: 100},
	}
}

// limitFlag reads --limit.
func limitFlag(c *cli.Context) (int, error) {
	n := c.Int("limit")
	if n < 1 || n > mostRows {
		return 0, core.Errorf(core.CodeInvalid, "", "--limit %d must be between 1 and %d", n, mostRows)
	}
	return n, nil
}

// sayMore tells a person how to see the next page, where this one is full.
func sayMore(c *cli.Context, listed, limit int, cursor, last string) {
	if listed == limit && !c.Bool("json") {
		fmt.Fprintf(c.App.ErrWriter, "drover: there may be more: --%s %s\n", cursor, last)
	}
}

// page is how a list is shown, one page at a time.
type page[T any] struct {
	empty  string // what is said if there is nothing
	header table.Row
	row    func(one *T) table.Row
	cursor string              // the flag by which the next page is asked for; "" if there is none
	last   func(one *T) string // what that flag takes
}

// print prints a page: JSON for programs; for people a table, and how to see the next one.
func (p page[T]) print(c *cli.Context, all []T) error {
	if c.Bool("json") {
		return printJSON(c.App.Writer, orEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i := range all {
		rows[i] = p.row(&all[i])
	}
	if p.cursor != "" && len(all) > 0 {
		sayMore(c, len(all), c.Int("limit"), p.cursor, p.last(&all[len(all)-1]))
	}
	return printTable(c.App.Writer, p.empty, p.header, rows)
}

// say prints a sentence, or for programs the thing that it is about.
func say(c *cli.Context, v any, format string, args ...any) error {
	if c.Bool("json") {
		return printJSON(c.App.Writer, v)
	}
	_, err := io.WriteString(c.App.Writer, clean(fmt.Sprintf(format, args...))+"\n") // a site may answer anything
	return err
}

// exactArgs returns a command's arguments, which are named in words.
func exactArgs(c *cli.Context, what ...string) ([]string, error) {
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
