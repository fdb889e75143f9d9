package operator

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

func setHostCommand() *cli.Command {
	set := access.ClusterCommand("set", "change the named settings of a host", "HOST", []cli.Flag{
		&cli.StringSliceFlag{Name: "label", Usage: "what pools may require of it: `NAME=VALUE`; NAME= removes the label; may be repeated"},
		&cli.Float64Flag{Name: "reserve-cpu", Usage: "processors that it keeps for itself: `N`", DefaultText: "0"},
		&cli.StringFlag{Name: "reserve-memory", Usage: "memory that it keeps for itself: `SIZE`", DefaultText: "a tenth, at most 2 GiB"},
		&cli.StringFlag{Name: "reserve-disk", Usage: "disk that it keeps for itself: `SIZE`", DefaultText: "a tenth, at most 10 GiB"},
		&cli.Float64Flag{Name: "overcommit-cpu", Usage: "processors promised to VMs for each that there is: `FACTOR`; 0 is the default", DefaultText: "4"},
		&cli.Float64Flag{Name: "overcommit-memory", Usage: "the same of memory: `FACTOR`; above 1, VMs may be killed for what others use", DefaultText: "1"},
		&cli.Float64Flag{Name: "overcommit-disk", Usage: "the same of disk: `FACTOR`", DefaultText: "1"},
		&cli.BoolFlag{Name: "defaults", Usage: "begin from the defaults, without labels, instead of what is set", DisableDefaultText: true},
	}, setHost)
	set.Description = "A host holds as many VMs as fit into what it has, less its reserve, times its overcommit. What operators set is kept\n" +
		"in the result store, so it holds after a loss of Redis, too."
	return set
}

func setHost(c *cli.Context, h *access.Cluster) error {
	host, err := terminal.OneArg(c, "host")
	if err != nil {
		return err
	}
	found, err := h.Operate().Host(c.Context, access.Operator(), host)
	if err != nil {
		return err
	}
	s := found.Settings
	if c.Bool("defaults") {
		s = core.HostSettings{}
	}
	s = s.Explicit(found.Whole())
	if err := applyHostFlags(c, &s); err != nil {
		return err
	}
	s = s.Implicit(found.Whole())
	if err := h.Operate().SetHost(c.Context, access.Operator(), host, s); err != nil {
		return err
	}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, s)
	}
	_, err = fmt.Fprintf(c.App.Writer, "host %s is set; drover host show %s shows what it has for VMs\n", host, host)
	return err
}

// applyHostFlags changes the named settings of a host, whose reserve is in figures.
func applyHostFlags(c *cli.Context, s *core.HostSettings) error {
	for _, text := range c.StringSlice("label") {
		if err := applyLabel(s, text); err != nil {
			return err
		}
	}
	for name, into := range map[string]*float64{
		"overcommit-cpu": &s.Overcommit.CPU, "overcommit-memory": &s.Overcommit.Memory, "overcommit-disk": &s.Overcommit.Disk,
	} {
		if c.IsSet(name) {
			*into = c.Float64(name)
		}
	}
	if c.IsSet("reserve-cpu") {
		n := c.Float64("reserve-cpu") * 1000
		if math.IsNaN(n) || n < 0 || n > core.MaxCPU {
			return core.Errorf(core.CodeInvalid, "reserve-cpu", "--reserve-cpu %g must be between 0 and %d processors", n/1000, core.MaxCPU/1000)
		}
		s.Reserve.CPU = int64(math.Round(n))
	}
	return cmp.Or(terminal.SizeFlag(c, "reserve-memory", &s.Reserve.Memory), terminal.SizeFlag(c, "reserve-disk", &s.Reserve.Disk))
}

// applyLabel sets the label that the text names, or removes it.
func applyLabel(s *core.HostSettings, text string) error {
	if name, removed := strings.CutSuffix(text, "="); removed && core.ValidName(name) {
		delete(s.Labels, name)
		return nil
	}
	labels, err := core.ParseLabels(text)
	if err != nil {
		return err
	}
	if s.Labels == nil {
		s.Labels = make(map[string]string)
	}
	maps.Copy(s.Labels, labels)
	return nil
}
