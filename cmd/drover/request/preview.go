package request

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core/requests"
)

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "submit nothing; say whether it would fit, where, and how soon it would run", DisableDefaultText: true}
}

// previewOn prints what a request would meet now.
func previewOn(c *cli.Context, d access.Backend, draft requests.Draft) error {
	p, err := d.PreviewRequest(c.Context, draft)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, p)
	}
	text := p.Text
	if !p.AtOnce() {
		text += terminal.Prefixed("; ahead of it: ", ahead(&p.Waiting)) + terminal.Prefixed("; expected ", mayWait(&p.Waiting))
	}
	lines := []string{text, fmt.Sprintf("VMs: %d ready, %d more could be made", p.Ready, p.More)}
	for _, h := range p.Hosts {
		lines = append(lines, fmt.Sprintf("  %s: %d ready, %d more", h.Host, h.Ready, h.More))
	}
	_, err = fmt.Fprintln(c.App.Writer, terminal.Clean(strings.Join(lines, "\n")))
	return err
}
