package operator

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core/classes/lti"
	"drover/core/school"
)

// LTICommand is drover lti.
func LTICommand() *cli.Command {
	own := []cli.Flag{
		&cli.StringFlag{Name: "name", Usage: "`NAME` for people; the platform's handle without"},
		&cli.StringFlag{Name: "issuer", Usage: "`URL` by which the platform names itself", Required: true},
		&cli.StringFlag{Name: "client-id", Usage: "`ID` that the platform gives to the site", Required: true},
		&cli.StringFlag{Name: "auth", Usage: "`URL` to which browsers are sent to sign in", Required: true},
		&cli.StringFlag{Name: "keys", Usage: "`URL` of the platform's public keys", Required: true},
		&cli.StringFlag{Name: "tokens", Usage: "`URL` at which the site gets its tokens; without it the platform gets no scores"},
		&cli.StringSliceFlag{Name: "deployment", Usage: "`ID` of a deployment from which people may come; repeatable; all without"},
		&cli.StringSliceFlag{Name: "origin", Usage: "`ORIGIN` of the platform's pages, such as https://school.instructure.com, if it is neither the issuer's nor the sign-in's; repeatable"},
		&cli.BoolFlag{Name: "new-classes", Usage: "let teachers of the platform make classes"},
	}
	return &cli.Command{
		Name: "lti", Usage: "learning platforms whose people come to the site", OnUsageError: terminal.UsageError,
		Subcommands: []*cli.Command{{
			Name: "platform", Usage: "list, add and remove learning platforms", OnUsageError: terminal.UsageError,
			Subcommands: []*cli.Command{
				access.ClusterCommand("list", "list learning platforms", "", nil, listPlatforms),
				access.ClusterCommand("show", "show a learning platform", "PLATFORM", nil, showPlatform),
				access.ClusterCommand("add", "add a learning platform; its handle is its name forever", "PLATFORM", own, addPlatform),
				access.ClusterCommand("remove", "remove a learning platform: nobody comes from it any more", "PLATFORM", nil, removePlatform),
			},
		}},
	}
}

// platforms makes the service as commands need it, which launch nobody.
func platforms(h *access.Cluster) *lti.Service { return h.LTI(nil, nil) }

func listPlatforms(c *cli.Context, h *access.Cluster) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	all, err := platforms(h).Platforms(c.Context, access.Operator())
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, terminal.OrEmpty(all))
	}
	rows := make([]table.Row, len(all))
	for i := range all {
		rows[i] = table.Row{all[i].ID, terminal.Clean(all[i].Name), terminal.Clean(all[i].Issuer), terminal.Clean(all[i].Client)}
	}
	return terminal.PrintTable(c.App.Writer, "no learning platforms: add one with drover lti platform add", table.Row{"platform", "name", "issuer", "client id"}, rows)
}

func showPlatform(c *cli.Context, h *access.Cluster) error {
	id, err := terminal.OneArg(c, "platform's handle")
	if err != nil {
		return err
	}
	p, err := platforms(h).Platform(c.Context, access.Operator(), id)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, p)
	}
	from := "all"
	if len(p.Deployments) > 0 {
		from = terminal.Clean(strings.Join(p.Deployments, ", "))
	}
	return terminal.PrintTable(c.App.Writer, "", nil, []table.Row{
		{"platform", p.ID},
		{"name", terminal.Clean(p.Name)},
		{"issuer", terminal.Clean(p.Issuer)},
		{"client id", terminal.Clean(p.Client)},
		{"deployments", from},
		{"sign-in", terminal.Clean(p.AuthURL)},
		{"keys", terminal.Clean(p.KeysURL)},
		{"tokens", terminal.Clean(p.TokenURL)},
		{"further origins", terminal.Clean(strings.Join(p.Origins, ", "))},
		{"new classes", p.NewClasses},
		{"added", terminal.Since(p.Created)},
	})
}

func addPlatform(c *cli.Context, h *access.Cluster) error {
	id, err := terminal.OneArg(c, "platform's handle")
	if err != nil {
		return err
	}
	p := school.LTIPlatform{
		ID: id, Name: c.String("name"), Issuer: c.String("issuer"), Client: c.String("client-id"), AuthURL: c.String("auth"), KeysURL: c.String("keys"),
		TokenURL: c.String("tokens"), Deployments: c.StringSlice("deployment"), Origins: c.StringSlice("origin"), NewClasses: c.Bool("new-classes"),
	}
	if p.Name == "" {
		p.Name = id
	}
	if p, err = platforms(h).PutPlatform(c.Context, access.Operator(), p); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, p)
	}
	_, err = fmt.Fprintf(c.App.Writer, "learning platform %s is added\n", p.ID)
	return err
}

func removePlatform(c *cli.Context, h *access.Cluster) error {
	id, err := terminal.OneArg(c, "platform's handle")
	if err != nil {
		return err
	}
	if err := platforms(h).RemovePlatform(c.Context, access.Operator(), id); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"platform": id, "removed": true})
	}
	_, err = fmt.Fprintf(c.App.Writer, "learning platform %s is removed\n", id)
	return err
}
