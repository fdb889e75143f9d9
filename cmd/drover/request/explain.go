package request

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

func explainRequest(c *cli.Context, d access.Backend) error {
	id, err := terminal.OneArg(c, "request id")
	if err != nil {
		return err
	}
	lines, err := d.ExplainRequest(c.Context, id)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{"id": id, "lines": terminal.OrEmpty(lines)})
	}
	for _, line := range lines {
		if _, err := fmt.Fprintf(c.App.Writer, "%s.\n", strings.TrimSuffix(terminal.Clean(line), ".")); err != nil {
			return err
		}
	}
	return nil
}

// addReceipt adds the rows of a receipt to those about a request.
func addReceipt(add func(name, value string), r *core.Receipt) {
	if r == nil {
		return
	}
	add("drover", r.Drover)
	add("kernel", terminal.Clean(r.Kernel))
	if r.CPU != "" {
		add("processors", fmt.Sprintf("%d × %s", r.Processors, terminal.Clean(r.CPU)))
	}
	add("harness", r.Harness)
	add("files", r.Files)
	if l := r.Limits; l.Timeout > 0 {
		add("limits", fmt.Sprintf("%s, %s, %d processes, output %s", l.Timeout, terminal.Size(l.Memory), l.Pids, terminal.Size(l.Output)))
	}
	if r.Network != "" {
		add("network", r.Network+map[bool]string{true: ", with a peer"}[r.Peer])
	}
	if r.Noise != nil {
		add("noise", noise(r.Noise))
	}
}

// noise says what else happened on the host.
func noise(n *core.Noise) string {
	part := func(ms *int64) string {
		if ms == nil {
			return "not measured"
		}
		return terminal.Millis(*ms)
	}
	running := "not measured"
	if n.Running != nil {
		running = fmt.Sprint(*n.Running)
	}
	others := "not measured"
	if n.Others != nil {
		others = fmt.Sprintf("%d %%", *n.Others)
	}
	return fmt.Sprintf("in %s: others used %s of the processors, waited for processors %s, stolen %s, runnable %s", terminal.Millis(n.Ms), others, part(n.Waited), part(n.Stolen), running)
}
