package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/script"
)

// Command is the profile of a group whose machines are made by the operator's own programs; docs/elastic.md has their
// contract.
type Command struct {
	Create    []string `json:"create"`    // program and arguments
	Terminate []string `json:"terminate"` // also ends the machines of silent hosts
	List      []string `json:"list"`
	Timeout   string   `json:"timeout,omitempty"`   // of one call, as 30s; default 60s
	Env       []string `json:"env,omitempty"`       // names of variables that the programs get of the overseer's environment
	UserData  string   `json:"user_data,omitempty"` // given to create on stdin, with {{instance}} and the like filled in
}

// Bounds of the operator's programs.
const (
	commandTimeout    = time.Minute
	maxCommandTimeout = 80 * time.Second // less than scale.CreateWithin
	maxCommandOutput  = 8 << 20
)

// Exit statuses of the operator's programs, as sysexits.h has them.
const (
	exitUsage       = 64
	exitData        = 65
	exitUnavailable = 69
	exitConfig      = 78
)

// asked is what a program reads on stdin.
type asked struct {
	Op       string `json:"op"`
	Cluster  string `json:"cluster"`
	Instance string `json:"instance,omitempty"`
	Machine  string `json:"machine,omitempty"`
	Group    string `json:"group,omitempty"`
	Type     string `json:"type,omitempty"`
	Spot     bool   `json:"spot,omitempty"`
	Labels   string `json:"labels,omitempty"`
	Secret   string `json:"secret,omitempty"`
	UserData string `json:"user_data,omitempty"`
}

type commands struct {
	says           Command
	cluster, group string
	timeout        time.Duration
}

func commandProfile(g core.HostGroup) (commands, error) {
	c := commands{group: g.Name, timeout: commandTimeout}
	if err := profile(g, &c.says); err != nil {
		return c, err
	}
	for name, line := range map[string][]string{"create": c.says.Create, "terminate": c.says.Terminate, "list": c.says.List} {
		if len(line) == 0 || !filepath.IsAbs(line[0]) {
			return c, wrong(g, "%s must be a list that begins with the absolute path of a program", name)
		}
	}
	if c.says.Timeout != "" {
		d, err := time.ParseDuration(c.says.Timeout)
		if err != nil || d < time.Second || d > maxCommandTimeout {
			return c, wrong(g, "timeout %.40q must be between 1s and %s", c.says.Timeout, maxCommandTimeout)
		}
		c.timeout = d
	}
	for _, name := range c.says.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return c, wrong(g, "env %.40q must be the name of a variable, without a value", name)
		}
	}
	return c, nil
}

func openCommand(cluster string, g core.HostGroup) (Provider, error) {
	c, err := commandProfile(g)
	c.cluster = cluster
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Create implements Provider.
func (c commands) Create(ctx context.Context, o Order) (string, error) {
	var made struct {
		Machine string `json:"machine"`
	}
	out, err := c.run(ctx, c.says.Create, asked{
		Op: "create", Cluster: c.cluster, Instance: o.Token, Group: o.Group, Type: o.Type, Spot: o.Spot, Labels: o.Labels, Secret: o.Secret,
		UserData: filled(c.says.UserData, c.cluster, o),
	})
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(out, &made); err != nil || made.Machine == "" || len(made.Machine) > core.MaxLine {
		return "", core.Wrap(orNothing(err), core.CodeUnavailable, o.Token, `the program that makes machines of host group %s must print {"machine": "its name"}`, c.group)
	}
	return made.Machine, nil
}

func orNothing(err error) error {
	if err == nil {
		return errors.New("it says too little")
	}
	return err
}

// Terminate implements Provider.
func (c commands) Terminate(ctx context.Context, token, foreign string) error {
	_, err := c.run(ctx, c.says.Terminate, asked{Op: "terminate", Cluster: c.cluster, Group: c.group, Instance: token, Machine: foreign})
	return err
}

// List implements Provider. The program prints one object for each machine.
func (c commands) List(ctx context.Context) ([]core.Machine, error) {
	out, err := c.run(ctx, c.says.List, asked{Op: "list", Cluster: c.cluster, Group: c.group})
	if err != nil {
		return nil, err
	}
	var all []core.Machine
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var m core.Machine
		if err := d.Decode(&m); err != nil {
			return nil, core.Wrap(err, core.CodeUnavailable, c.group, "what the program that lists machines of host group %s printed cannot be read", c.group)
		}
		if len(all) >= MaxMachines {
			return nil, core.Errorf(core.CodeLimit, c.group, "host group %s has more than %d machines", c.group, MaxMachines)
		}
		if m.Cluster == c.cluster && m.Foreign != "" {
			all = append(all, m)
		}
	}
	return all, nil
}

// run runs a program. Its exit status tells what is wrong, as those of sysexits.h do.
func (c commands) run(ctx context.Context, line []string, in asked) ([]byte, error) {
	input, err := json.Marshal(in) //nolint:gosec // the program is to have the secret, on its stdin
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, in.Instance, "the input of a program cannot be written as JSON")
	}
	s := script.Script{Path: line[0], Timeout: c.timeout, Output: maxCommandOutput, Env: c.environment(in)}
	out, err := s.Run(ctx, append(input, '\n'), line[1:]...)
	var exit *exec.ExitError
	code := core.CodeOf(err)
	if errors.As(err, &exit) {
		switch exit.ExitCode() {
		case exitUsage, exitData, exitConfig:
			code = core.CodeInvalid
		case exitUnavailable:
			code = core.CodeLimit
		}
	}
	return out, core.Wrap(err, code, in.Instance, "host group %s, %s", c.group, in.Op)
}

// environment is that of a program. Secrets are on its stdin alone.
func (c commands) environment(in asked) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DROVER_OP=" + in.Op,
		"DROVER_CLUSTER=" + in.Cluster, "DROVER_GROUP=" + c.group, "DROVER_INSTANCE=" + in.Instance, "DROVER_MACHINE=" + in.Machine,
		"DROVER_TYPE=" + in.Type, "DROVER_LABELS=" + in.Labels,
	}
	for _, name := range c.says.Env {
		if value, is := os.LookupEnv(name); is {
			env = slices.DeleteFunc(env, func(one string) bool { return strings.HasPrefix(one, name+"=") })
			env = append(env, name+"="+value)
		}
	}
	return env
}
