package access

import (
	"cmp"
	"io"
	"os/user"
	"slices"

	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/classes"
)

// Session is the backend of a command on a cluster: the services, which check every right, and the acting user.
type Session struct {
	*Cluster
	Reg   *classes.Service
	Actor core.Actor
	notes io.Writer // messages besides the answer
}

// AsFlag names the acting user.
func AsFlag() cli.Flag {
	return &cli.StringFlag{
		Name: "as", EnvVars: []string{"DROVER_AS"}, DefaultText: "the cluster's operator",
		Usage: "act as the user `HANDLE`, with the rights of that user",
	}
}

// localPrefix begins the handles of operators at the command line, who are not users.
const localPrefix = "local-"

// Operator is the actor for anyone with access to the store and Redis: all rights except those that are personal to a
// user.
func Operator() core.Actor {
	name := submitterName()
	handle := localPrefix + name[:min(len(name), core.MaxNameLen-len(localPrefix))]
	return core.Actor{Handle: handle, Roles: []core.UserRole{core.RoleAdmin}}
}

// AsOperator returns a session for what this program does itself.
func (h *Cluster) AsOperator() *Session {
	return &Session{Cluster: h, Reg: h.Classes(), Actor: Operator(), notes: io.Discard}
}

// session returns the session of a command as the user of --as, or else as the operator.
func (h *Cluster) session(c *cli.Context) (*Session, error) {
	s := h.AsOperator()
	s.notes = c.App.ErrWriter
	handle := c.String("as")
	if handle == "" {
		return s, nil
	}
	if err := core.CheckName("user", handle); err != nil {
		return nil, err
	}
	var err error
	s.Actor, err = s.Reg.Actor(c.Context, handle)
	return s, err
}

// WithSession makes the action of a command that acts as a user.
func WithSession(action func(c *cli.Context, s *Session) error) func(c *cli.Context, h *Cluster) error {
	return func(c *cli.Context, h *Cluster) error {
		s, err := h.session(c)
		if err != nil {
			return err
		}
		return action(c, s)
	}
}

// UserCommand describes a subcommand that acts as a user, with an example of it.
func UserCommand(name, usage, args, example string, own []cli.Flag, action func(c *cli.Context, s *Session) error) *cli.Command {
	cmd := ClusterCommand(name, usage, args, slices.Concat(own, []cli.Flag{AsFlag()}), WithSession(action))
	cmd.Description = "Example: " + example
	return cmd
}

// Person returns the name of the person at the terminal, as far as the machine knows.
func Person() string {
	u, err := user.Current()
	if err != nil {
		return "operator"
	}
	return cmp.Or(u.Username, "operator")
}

// submitterName makes a valid name of Person.
func submitterName() string {
	name := []byte{}
	for _, b := range []byte(Person()) {
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b >= 'a' && b <= 'z' || b >= '0' && b <= '9' {
			name = append(name, b)
		}
	}
	return cmp.Or(string(name[:min(len(name), core.MaxNameLen)]), "somebody")
}
