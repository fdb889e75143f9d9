package terminal

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// flagsFirst moves the flags of a command before its arguments, as the library requires, so that people may write
// them in any order. Everything after "--" stays where it is, and so does everything after run's first argument,
// which belongs to another program.
func flagsFirst(app *cli.App, args []string) []string {
	flags, commands, top := app.Flags, app.Commands, true
	at := 1
	for at < len(args) {
		if strings.HasPrefix(args[at], "-") && args[at] != "-" {
			at += words(flags, args[at])
			continue
		}
		i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[at]) })
		if i < 0 {
			break
		}
		if top && commands[i].Name == "run" {
			return args
		}
		flags, commands, top = commands[i].Flags, commands[i].Subcommands, false
		at++
	}
	at = min(at, len(args))
	if len(commands) > 0 {
		return args // no command that takes arguments
	}
	first, rest := slices.Clone(args[:at]), []string{}
	for at < len(args) && args[at] != "--" {
		n := 1
		if strings.HasPrefix(args[at], "-") && args[at] != "-" {
			n = min(words(flags, args[at]), len(args)-at)
			first = append(first, args[at:at+n]...)
		} else {
			rest = append(rest, args[at])
		}
		at += n
	}
	return slices.Concat(first, rest, args[at:])
}

// words returns how many arguments a flag takes, including itself.
func words(flags []cli.Flag, arg string) int {
	name := strings.TrimLeft(arg, "-")
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			if doc, ok := f.(cli.DocGenerationFlag); ok && doc.TakesValue() {
				return 2
			}
		}
	}
	return 1
}
