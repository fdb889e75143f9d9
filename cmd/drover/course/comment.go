package course

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core/classes"
	"drover/core/school"
)

// commentCommands are the commands of drover submission for what people say about one.
func commentCommands() []*cli.Command {
	return []*cli.Command{
		access.BackendCommand("comments", "list its comments, questions and answers, oldest first", "ID", "drover submission comments 01j8x3k4", []cli.Flag{terminal.ZoneFlag()}, listComments),
		access.BackendCommand("comment", "comment on it, as a draft", "ID TEXT", "drover submission comment --file main.py --line 3 01j8x3k4 'Give it a name.'", []cli.Flag{
			&cli.StringFlag{Name: "file", Usage: "comment on its file `PATH`"},
			&cli.IntFlag{Name: "line", Usage: "on the line `NUMBER` of that file", DefaultText: "the whole file"},
			&cli.IntFlag{Name: "last", Usage: "and on all lines to the line `NUMBER`", DefaultText: "--line"},
			onceFlag(),
		}, addComment),
		access.BackendCommand("comment-edit", "replace the text of a comment, or of your own question", "COMMENT TEXT", "drover submission comment-edit 01j9d1qa 'Name it total.'", nil, editComment),
		access.BackendCommand("comment-remove", "delete a comment, or your own question", "COMMENT", "drover submission comment-remove 01j9d1qa", nil, removeComment),
		access.BackendCommand("release", "show the drafts on it to its student", "ID", "drover submission release 01j8x3k4", nil, releaseComments),
		access.BackendCommand("ask", "ask the staff about your submission", "ID TEXT", "drover submission ask 01j8x3k4 'Why is test 3 wrong?'", []cli.Flag{onceFlag()}, askQuestion),
		access.BackendCommand("answer", "answer all open questions about it", "ID TEXT", "drover submission answer 01j8x3k4 'The last line is missing.'", []cli.Flag{onceFlag()}, answerQuestions),
	}
}

func onceFlag() cli.Flag {
	return &cli.StringFlag{Name: "key", Usage: "an idempotency key: the same `KEY` and text again add nothing"}
}

func listComments(c *cli.Context, d access.Backend) error {
	at, err := terminal.Zone(c)
	if err != nil {
		return err
	}
	id, err := terminal.OneArg(c, "submission id")
	if err != nil {
		return err
	}
	all, err := d.Comments(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Page[school.Comment]{
		Empty: "no comments", Header: table.Row{"id", "at", "by", "kind", "where", "text"},
		Row: func(one *school.Comment) table.Row {
			return table.Row{one.ID, terminal.ShortMoment(one.At, at), one.By, commentKind(one), commentPlace(one), terminal.Clean(one.Text)}
		},
		Last: func(one *school.Comment) string { return one.ID },
	}.Print(c, all)
}

func commentKind(one *school.Comment) string {
	switch {
	case one.Draft():
		return "draft"
	case one.Open:
		return "open question"
	default:
		return string(one.Kind)
	}
}

// commentPlace writes the lines that a comment is about.
func commentPlace(one *school.Comment) string {
	place := terminal.Clean(one.File)
	if one.Line > 0 {
		place += fmt.Sprintf(":%d", one.Line)
	}
	if one.Last > one.Line {
		place += fmt.Sprintf("-%d", one.Last)
	}
	return place
}

// say has a text said about a submission, and prints the id of what was said.
func say(c *cli.Context, does func(ctx context.Context, id, text string) (school.Comment, error)) error {
	args, err := terminal.ExactArgs(c, "submission id", "text")
	if err != nil {
		return err
	}
	said, err := does(c.Context, args[0], args[1])
	if err != nil {
		return err
	}
	return terminal.Say(c, said, "%s", said.ID)
}

func addComment(c *cli.Context, d access.Backend) error {
	return say(c, func(ctx context.Context, id, text string) (school.Comment, error) {
		return d.AddComment(ctx, id, classes.NewComment{Text: text, File: strings.TrimPrefix(c.String("file"), "./"), Line: c.Int("line"), Last: c.Int("last"), Key: c.String("key")})
	})
}

func askQuestion(c *cli.Context, d access.Backend) error {
	return say(c, func(ctx context.Context, id, text string) (school.Comment, error) {
		return d.Ask(ctx, id, text, c.String("key"))
	})
}

func answerQuestions(c *cli.Context, d access.Backend) error {
	return say(c, func(ctx context.Context, id, text string) (school.Comment, error) {
		return d.Answer(ctx, id, text, c.String("key"))
	})
}

func editComment(c *cli.Context, d access.Backend) error {
	args, err := terminal.ExactArgs(c, "comment id", "text")
	if err != nil {
		return err
	}
	if err := d.EditComment(c.Context, args[0], args[1]); err != nil {
		return err
	}
	return terminal.Say(c, map[string]string{"id": args[0]}, "comment %s is changed", args[0])
}

func removeComment(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "comment id")
	if err != nil {
		return err
	}
	if err := d.DeleteComment(c.Context, id); err != nil {
		return err
	}
	return terminal.Say(c, map[string]string{"id": id}, "comment %s is deleted", id)
}

func releaseComments(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "submission id")
	if err != nil {
		return err
	}
	n, err := d.ReleaseComments(c.Context, id)
	if err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"id": id, "released": n}, "its student sees %d more comments of submission %s", n, id)
}
