package main

import (
	"fmt"

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

// say prints a sentence, or for programs the thing that it is about.
func say(c *cli.Context, v any, format string, args ...any) error {
	if c.Bool("json") {
		return printJSON(c.App.Writer, v)
	}
	_, err := fmt.Fprintf(c.App.Writer, format+"\n", args...)
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
