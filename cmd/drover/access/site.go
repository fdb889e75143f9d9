package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/config"
	remote "drover/web/client"
)

// site is a backend that calls a site's API.
type site struct{ *remote.Client }

var _ Backend = site{}

// At names the site.
func (s site) At() string { return s.Server }

// WhyTaskWaits returns as much as a user of a site may know.
func (s site) WhyTaskWaits(context.Context) string {
	return "still waiting for its turn at " + s.Server
}

// openSite makes a client of the site of a login.
func openSite(c *cli.Context, cfg *config.Config, l Login) (site, error) {
	away := false
	cl, err := remote.New(remote.Options{
		Server: l.Server, Token: l.Token, Insecure: l.Insecure, Agent: "drover/" + Version, Timeout: cmp.Or(cfg.ServerTimeout, -1),
		Again: func(err error, _ time.Duration) {
			if !away {
				fmt.Fprintf(c.App.ErrWriter, "drover: %s; trying again\n", terminal.Clean(err.Error()))
			}
			away = true
		},
	})
	return site{cl}, err
}

// SiteAt is a site, called by a token.
func SiteAt(server, token string) (Backend, error) {
	cl, err := remote.New(remote.Options{Server: server, Token: token, Agent: "drover/" + Version, Timeout: -1})
	return site{cl}, err
}

// WithBackend makes the action of a command for a cluster or a site.
func WithBackend(action func(c *cli.Context, d Backend) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		cfg, err := terminal.Load(c)
		if err != nil {
			return err
		}
		l, err := whichSite(c, cfg)
		if err != nil {
			return err
		}
		if l == nil {
			return WithCluster(WithSession(func(c *cli.Context, s *Session) error { return action(c, s) }))(c)
		}
		s, err := openSite(c, cfg, *l)
		if err != nil {
			return err
		}
		return errors.Join(signedOut(action(c, s), l.Server), s.Close())
	}
}

// signedOut adds how to sign in again if a site does not accept the token any more.
func signedOut(err error, server string) error {
	if !remote.SignedOut(err) {
		return err
	}
	return core.Wrap(err, core.CodeForbidden, server, "you are not signed in at %s any more; drover login --server %s", server, server)
}

// whichSite returns the login of the site to use; nil for a cluster.
func whichSite(c *cli.Context, cfg *config.Config) (*Login, error) {
	if cfg.Server == "" && (c.String("as") != "" || HasCluster(cfg)) {
		return nil, nil //nolint:nilnil // a cluster is no fault
	}
	if cfg.Server != "" && c.String("as") != "" {
		return nil, core.Errorf(core.CodeInvalid, "as", "--as is for a cluster; the site %s (%s) is asked as who signed in there", cfg.Server, cfg.Source("server"))
	}
	all, err := Logins(cfg.Logins).Read()
	if err != nil {
		return nil, err
	}
	if cfg.Server != "" {
		return loginAt(all, cfg.Server)
	}
	if len(all) != 1 {
		return nil, nil //nolint:nilnil // which of them is not to be guessed
	}
	fmt.Fprintf(c.App.ErrWriter, "drover: asks %s as %s, where you are signed in; to ask a cluster, name it with --data or --redis\n", all[0].Server, terminal.Clean(all[0].User))
	return &all[0], nil
}

// loginAt finds the login at a server.
func loginAt(all []Login, server string) (*Login, error) {
	at, err := remote.Site(server, true)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(l Login) bool { return l.Server == at.String() })
	if i < 0 {
		return nil, core.Errorf(core.CodeForbidden, at.String(), "you are not signed in at %s: drover login --server %s", at, at)
	}
	return &all[i], nil
}

// HasCluster reports whether the settings name a cluster, or one runs in drover up's default folder.
func HasCluster(cfg *config.Config) bool {
	for _, name := range []string{"redis", "store", "blobs", "data"} {
		if cfg.Source(name) != config.Default {
			return true
		}
	}
	at, err := url.Parse(cfg.Redis.Reveal())
	if err != nil || at.Scheme != "unix" {
		return true
	}
	_, err = os.Stat(strings.TrimPrefix(cfg.Redis.Reveal(), "unix://"))
	return err == nil
}
