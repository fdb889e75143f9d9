package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"drover/core"
)

// Provider makes and ends machines. Errors of Create say what to do next:
//
//	LIMIT        there is no capacity, or a quota is reached: ask again later
//	INVALID      the order or the profile is wrong: asking again does not help
//	UNAVAILABLE  the provider could not be asked, or its answer was lost: ask again
type Provider interface {
	// Create makes the machine of an order, at most one for a token: if it is there, or was there and has ended, its
	// name is returned.
	Create(ctx context.Context, o Order) (foreign string, err error)
	// Terminate ends the machine of a token; foreign is its name, if it is known. A machine that is not there, or has
	// ended, is none to end, which is no error. It also ends a machine whose host is silent, so that what runs there
	// cannot go on.
	Terminate(ctx context.Context, token, foreign string) error
	// List lists the machines that were made for the cluster, for any group. Some that have ended may be among them.
	List(ctx context.Context) ([]core.Machine, error)
}

// Order asks for one machine.
type Order struct {
	Token  string // id of the instance, and its host's name
	Made   int64  // when the instance was made, ms since 1970: no two instances have token and this in common
	Group  string
	Type   string // of machine; "" if the group has only one
	Labels string // of its host
	Secret string // with which its host joins the cluster; "": it has another way
}

// MaxMachines bounds what a provider lists.
const MaxMachines = 20_000

// Open returns the provider of a group, which acts for one cluster only, by its id. Returns INVALID for a profile that
// the provider does not understand.
func Open(cluster string, g core.HostGroup) (Provider, error) {
	if err := core.CheckName("cluster", cluster); err != nil {
		return nil, err
	}
	switch g.Provider {
	case core.CloudCommand:
		return openCommand(cluster, g)
	case core.CloudProcess:
		return openProcess(cluster, g)
	}
	return nil, core.Errorf(core.CodeInvalid, g.Name, "host group %s: provider %.40q is none: use %s", g.Name, g.Provider, strings.Join(core.CloudProviders(), ", "))
}

// Check returns what is wrong with a group, its profile included. No provider is asked.
func Check(g core.HostGroup) error {
	if err := g.Check(); err != nil {
		return err
	}
	switch g.Provider {
	case core.CloudCommand:
		_, err := commandProfile(g)
		return err
	default:
		_, err := processProfile(g)
		return err
	}
}

// profile reads a group's profile; fields that it does not have are refused.
func profile(g core.HostGroup, into any) error {
	d := json.NewDecoder(bytes.NewReader(g.Profile))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.More() {
		err = errors.New("there is more than one object")
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	}
	return core.Wrap(err, core.CodeInvalid, g.Name, "the profile of host group %s cannot be read: see docs/elastic.md", g.Name)
}

func wrong(g core.HostGroup, format string, args ...any) error {
	return core.Errorf(core.CodeInvalid, g.Name, "the profile of host group "+g.Name+": "+format, args...)
}

// filled replaces {{instance}} and the like in a text by what an order says.
func filled(text, cluster string, o Order) string {
	return strings.NewReplacer(
		"{{instance}}", o.Token, "{{group}}", o.Group, "{{cluster}}", cluster, "{{type}}", o.Type, "{{labels}}", o.Labels, "{{secret}}", o.Secret,
	).Replace(text)
}
