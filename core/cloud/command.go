package cloud

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/service/script"
)

// Command is the profile of a group whose machines are made by a program of the operator; docs/elastic.md has its
// protocol.
type Command struct {
	Program  []string        `json:"program"`             // and its arguments
	Settings json.RawMessage `json:"settings,omitempty"`  // for the program
	Timeout  string          `json:"timeout,omitempty"`   // of one call, as 30s; default 60s
	Env      []string        `json:"env,omitempty"`       // names of variables that the program gets of the overseer's environment
	UserData string          `json:"user_data,omitempty"` // given to create on stdin, with {{instance}} and the like filled in
	Notices  string          `json:"notices,omitempty"`   // how a machine itself learns that it is taken back; "": not at all
}

// NoticesEC2 says that machines have a metadata service as those of EC2 have: see WaitNotice.
const NoticesEC2 = "ec2"

// Bounds of the operator's programs.
const (
	commandTimeout    = time.Minute
	maxCommandTimeout = 80 * time.Second // less than scale.CreateWithin
	maxCommandOutput  = 8 << 20
)

type commands struct {
	says           Command
	cluster, group string
	spot           bool
	timeout        time.Duration
}

func commandProfile(g core.HostGroup) (commands, error) {
	c := commands{group: g.Name, spot: g.Spot, timeout: commandTimeout}
	if err := profile(g, &c.says); err != nil {
		return c, err
	}
	if len(c.says.Program) == 0 || !filepath.IsAbs(c.says.Program[0]) {
		return c, wrong(g, "program must be a list that begins with the absolute path of a program")
	}
	if c.says.Notices != "" && c.says.Notices != NoticesEC2 {
		return c, wrong(g, "notices %.40q must be %s, or left out", c.says.Notices, NoticesEC2)
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

// Noticed reports whether the machines of a group hear themselves, from a service that WaitNotice asks, that they are
// taken back.
func Noticed(g core.HostGroup) bool {
	if !g.Spot || g.Provider != core.CloudCommand {
		return false
	}
	c, err := commandProfile(g)
	return err == nil && c.says.Notices == NoticesEC2
}

// Create implements Provider.
func (c commands) Create(ctx context.Context, o Order) (string, error) {
	made, _, err := c.call(ctx, Ask{
		Op: OpCreate, Instance: o.Token, ClientToken: clientToken(c.cluster, o), Type: o.Type, Labels: o.Labels, Secret: o.Secret,
		UserData: filled(c.says.UserData, c.cluster, o),
	})
	if err != nil {
		return "", err
	}
	if made.Machine == "" || len(made.Machine) > core.MaxLine {
		return "", core.Errorf(core.CodeUnavailable, o.Token, `the program of host group %s must print {"protocol": %d, "machine": "its name"}`, c.group, Protocol)
	}
	return made.Machine, nil
}

// clientToken names an order among all clusters.
func clientToken(cluster string, o Order) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", cluster, o.Token, o.Made))
	return hex.EncodeToString(sum[:16])
}

// Terminate implements Provider.
func (c commands) Terminate(ctx context.Context, token, foreign string) error {
	_, _, err := c.call(ctx, Ask{Op: OpTerminate, Instance: token, Machine: foreign})
	return err
}

// List implements Provider.
func (c commands) List(ctx context.Context) ([]core.Machine, error) {
	_, d, err := c.call(ctx, Ask{Op: OpList})
	if err != nil {
		return nil, err
	}
	var all []core.Machine
	for d.More() {
		var m core.Machine
		if err := d.Decode(&m); err != nil {
			return nil, core.Wrap(err, core.CodeUnavailable, c.group, "what the program of host group %s printed of its machines cannot be read", c.group)
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

// call runs the program, and returns its answer and what follows.
func (c commands) call(ctx context.Context, in Ask) (Answer, *json.Decoder, error) {
	in.Protocol, in.Cluster, in.Group, in.Spot, in.Settings = Protocol, c.cluster, c.group, c.spot, c.says.Settings
	out, err := c.run(ctx, in)
	if err != nil {
		return Answer{}, nil, err
	}
	var a Answer
	d := json.NewDecoder(bytes.NewReader(out))
	if err := d.Decode(&a); err != nil {
		return a, nil, core.Wrap(err, core.CodeUnavailable, in.Instance, `what the program of host group %s printed for %s does not begin with {"protocol": %d`, c.group, in.Op, Protocol)
	}
	if a.Protocol != Protocol {
		return a, nil, core.Errorf(core.CodeInvalid, in.Instance, "the program of host group %s answered %s by protocol %d, and this drover speaks %d", c.group, in.Op, a.Protocol, Protocol)
	}
	return a, d, nil
}

// run runs the program. Its exit status tells what is wrong.
func (c commands) run(ctx context.Context, in Ask) ([]byte, error) {
	input, err := json.Marshal(in) //nolint:gosec // the program is to have the secret, on its stdin
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, in.Instance, "the input of a program cannot be written as JSON")
	}
	s := script.Script{Path: c.says.Program[0], Timeout: c.timeout, Output: maxCommandOutput, Env: c.environment(in)}
	out, err := s.Run(ctx, append(input, '\n'), c.says.Program[1:]...)
	var exit *exec.ExitError
	code, hint := core.CodeOf(err), ""
	if errors.As(err, &exit) {
		switch exit.ExitCode() {
		case ExitUsage, ExitInput, ExitConfig:
			code = core.CodeInvalid
		case ExitProtocol:
			code, hint = core.CodeInvalid, fmt.Sprintf(": the program does not speak protocol %d", Protocol)
		case ExitForbidden:
			code = core.CodeForbidden
		case ExitFull:
			code = core.CodeLimit
		}
	}
	return out, core.Wrap(err, code, in.Instance, "host group %s, %s%s", c.group, in.Op, hint)
}

// environment is that of a program. Secrets are on its stdin alone.
func (c commands) environment(in Ask) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "DROVER_PROTOCOL=" + strconv.Itoa(in.Protocol),
		"DROVER_OP=" + in.Op, "DROVER_CLUSTER=" + in.Cluster, "DROVER_GROUP=" + in.Group, "DROVER_SPOT=" + strconv.FormatBool(in.Spot),
		"DROVER_INSTANCE=" + in.Instance, "DROVER_MACHINE=" + in.Machine, "DROVER_CLIENT_TOKEN=" + in.ClientToken,
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
