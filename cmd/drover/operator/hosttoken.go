package operator

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/join"
	"drover/examples"
)

func hostTokenCommand() *cli.Command {
	return &cli.Command{
		Name: "token", Usage: "make, list and revoke tokens by which machines join as hosts", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{
			access.BackendCommand("create", "make a token, and show how a machine joins by it", "", "drover host token create --name host7", []cli.Flag{
				&cli.StringFlag{Name: "name", Usage: "only the host `HOST` joins by it", DefaultText: "each machine's own name"},
				&cli.StringFlag{Name: "group", Usage: "its hosts get the labels of the host group `GROUP`"},
				&cli.IntFlag{Name: "uses", Usage: "so many hosts join by it: `N`", Value: 1},
				&cli.DurationFlag{Name: "for", Usage: "how long it is good: a `TIME`, at most an hour", Value: core.JoinLife},
			}, createHostToken),
			access.BackendCommand("list", "list tokens and the hosts that joined by them, newest first", "", "drover host token list", nil, listHostTokens),
			access.BackendCommand("revoke", "end a token; hosts that joined by it stay", "ID", "drover host token revoke 1f0c3a9be2d45678", nil, revokeHostToken),
		},
	}
}

func createHostToken(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	secret, t, err := d.MakeJoinToken(c.Context, join.Wish{
		Host: c.String("name"), Group: c.String("group"), Uses: c.Int("uses"), Life: c.Duration("for"),
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"secret": secret, "token": t})
	}
	example := d.SiteAddress(c.Context)
	_, err = fmt.Fprintf(c.App.Writer, "%s\n\nThe token is good until %s, for %s. On a machine with this program, as root:\n\n"+
		"  DROVER_JOIN_TOKEN=%s drover join %s\n\nFor a machine that a cloud makes, as its user data:\n\n%s",
		secret, time.UnixMilli(t.Expires).Format(time.DateTime), usesOf(t), secret, example, examples.CloudInit(secret, example))
	return err
}

// usesOf says for how many hosts a token is.
func usesOf(t core.JoinToken) string {
	switch {
	case t.Host != "":
		return "host " + t.Host
	case t.Uses == 1:
		return "one host"
	}
	return fmt.Sprintf("%d hosts", t.Uses)
}

func listHostTokens(c *cli.Context, d access.Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	all, err := d.ListJoinTokens(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i, t := range all {
		var joined []string
		for _, one := range t.Joined {
			joined = append(joined, one.Host)
		}
		until := time.UnixMilli(t.Expires)
		left := "until " + until.Format(time.DateTime)
		if !until.After(time.Now()) {
			left = "expired " + terminal.Since(t.Expires)
		}
		rows[i] = table.Row{t.ID, usesOf(t), t.Group, left, t.By, strings.Join(joined, " ")}
	}
	return terminal.PrintTable(c.App.Writer, "no join tokens: make one with drover host token create", table.Row{"token", "for", "group", "valid", "made by", "joined"}, rows)
}

func revokeHostToken(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "token's id, as drover host token list shows it")
	if err != nil {
		return err
	}
	if err := d.RevokeJoinToken(c.Context, id); err != nil {
		return err
	}
	return terminal.Say(c, map[string]any{"token": id, "revoked": true}, "token %s is revoked", id)
}
