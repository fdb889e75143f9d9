package operator

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
)

// MigrateCommand is drover migrate.
func MigrateCommand() *cli.Command {
	return &cli.Command{
		Name: "migrate", Usage: "bring the result store to this version's schema, while all components are stopped", OnUsageError: terminal.UsageError,
		Description: "A store in a file is copied before, beside it; back up one in MongoDB yourself. With --adopt the stores in the\n" +
			"settings become the cluster's, and their requests run in the namespace in the settings alone: after a move to\n" +
			"another store or namespace, or after one that was lost is given up.",
		Flags: terminal.WithSettings([]cli.Flag{
			terminal.JSONFlag(),
			&cli.BoolFlag{Name: "adopt", Usage: "make the stores that --store and --blobs name, and the --namespace, one cluster", DisableDefaultText: true},
		}),
		Action: func(c *cli.Context) error {
			if err := terminal.NoArgs(c); err != nil {
				return err
			}
			cfg, err := terminal.Load(c)
			if err != nil {
				return err
			}
			did, err := access.Migrate(c.Context, cfg, c.Bool("adopt"))
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return terminal.PrintJSON(c.App.Writer, did)
			}
			text := fmt.Sprintf("%s has schema %d, which this version needs", cfg.Store, did.To)
			if did.From != did.To {
				text = fmt.Sprintf("%s had schema %d and now has %d", cfg.Store, did.From, did.To)
			}
			if did.Copy != "" {
				text += "; a copy from before is " + did.Copy
			}
			if c.Bool("adopt") {
				text += fmt.Sprintf("\nit, %s and namespace %s are one cluster", cfg.Blobs, cfg.Namespace)
			}
			_, err = fmt.Fprintln(c.App.Writer, text)
			return err
		},
	}
}
