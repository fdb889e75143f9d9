package access

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/config"
	"drover/core/school"
	remote "drover/web/client"
)

// tokenPrefix begins every token of a site, see school.Token.
const tokenPrefix = "dro_"

// noTerminal is what to use without a terminal.
const noTerminal = "--token-file PATH or --token-stdin, with a token from your account's page"

// LoginCommand signs in at a site.
func LoginCommand() *cli.Command {
	return &cli.Command{
		Name: "login", Usage: "sign in to a site, so that commands can use it", OnUsageError: terminal.UsageError,
		Description: "Asks for your handle and password, gets a token for them, and keeps that in a file that only you can\n" +
			"read. Then --server URL, or DROVER_SERVER, lets commands ask the site; with one login and no cluster on\n" +
			"this machine they do so anyway. Who has no password there makes a token on the account's page.\n" +
			"Example: drover login --server https://drover.example.org",
		Flags: terminal.WithSettings([]cli.Flag{
			&cli.StringFlag{Name: "user", Usage: "sign in as `HANDLE`, or with this e-mail address", DefaultText: "what you are asked for"},
			&cli.StringSliceFlag{Name: "scope", Usage: "what the token is good for, beside read: `SCOPE` submit, teach, cluster or admin; repeatable", Value: cli.NewStringSlice("submit", "teach")},
			&cli.DurationFlag{Name: "life", Usage: "for how long: a `TIME` such as 12h", DefaultText: "90 days"},
			&cli.BoolFlag{Name: "token", Usage: "be asked for a token instead of handle and password", DisableDefaultText: true},
			&cli.StringFlag{Name: "token-file", Usage: "read the token from the file `PATH`"},
			&cli.BoolFlag{Name: "token-stdin", Usage: "read the token from standard input", DisableDefaultText: true},
			&cli.BoolFlag{Name: "insecure-http", Usage: "speak http to another machine: anyone who listens on the network can use the token", DisableDefaultText: true},
			terminal.JSONFlag(),
		}, "client"),
		Action: signIn,
	}
}

func signIn(c *cli.Context) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	cfg, err := terminal.Load(c)
	if err != nil {
		return err
	}
	if cfg.Server == "" {
		return core.Errorf(core.CodeInvalid, "server", "where? drover login --server URL")
	}
	at, err := remote.Site(cfg.Server, c.Bool("insecure-http"))
	if err != nil {
		return err
	}
	l := Login{Server: at.String(), Insecure: at.Scheme == "http"}
	if c.Bool("token") || c.Bool("token-stdin") || c.String("token-file") != "" {
		l.Token, err = readToken(c, l.Server)
	} else {
		l.Token, err = newToken(c, cfg, l)
		l.Issued = true
	}
	if err != nil {
		return err
	}
	s, err := openSite(c, cfg, l)
	if err != nil {
		return err
	}
	me, err := s.Me(c.Context)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	l.User, l.ID = me.Handle, me.Token
	before, err := Logins(cfg.Logins).Put(l)
	if err != nil {
		return err
	}
	if before != nil && before.Issued && before.ID != l.ID {
		if err := revoke(c, cfg, *before); err != nil {
			fmt.Fprintf(c.App.ErrWriter, "drover: the token of the earlier login is still good (%s): revoke it on your account's page\n", terminal.Clean(err.Error()))
		}
	}
	return terminal.Say(c, me, "signed in at %s as %s; the token is good for: %s", l.Server, l.User, ScopesWord(me.Scopes))
}

// newToken gets a token by handle and password.
func newToken(c *cli.Context, cfg *config.Config, l Login) (string, error) {
	t, err := terminal.TerminalOf(c, noTerminal)
	if err != nil {
		return "", err
	}
	in := remote.SignIn{User: c.String("user"), Name: tokenName(), Scopes: []school.Scope{school.ScopeRead}, Life: c.Duration("life")}
	for _, one := range c.StringSlice("scope") {
		if scope := school.Scope(one); !slices.Contains(in.Scopes, scope) {
			in.Scopes = append(in.Scopes, scope)
		}
	}
	if in.User == "" {
		if in.User, err = t.Ask("Handle or e-mail address at " + l.Server); err != nil {
			return "", err
		}
	}
	if in.Password, err = t.AskHidden(fmt.Sprintf("Password of %s at %s", terminal.Clean(in.User), l.Server)); err != nil {
		return "", err
	}
	s, err := openSite(c, cfg, l)
	if err != nil {
		return "", err
	}
	secret, _, err := s.SignIn(c.Context, in)
	return secret, errors.Join(err, s.Close())
}

// tokenName returns the name of this machine's token in lists.
func tokenName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	return "drover login on " + host
}

// ScopesWord lists scopes for people.
func ScopesWord(scopes []school.Scope) string {
	words := make([]string, len(scopes))
	for i, s := range scopes {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// readToken reads a token from a file or standard input, never from an argument, which others could see.
func readToken(c *cli.Context, server string) (string, error) {
	var text string
	var err error
	switch path := c.String("token-file"); {
	case path != "" && c.Bool("token-stdin"):
		return "", core.Errorf(core.CodeInvalid, "", "--token-file and --token-stdin do not go together: the token is in one place")
	case path != "":
		text, err = terminal.ReadSecretFile(path)
	default:
		text, err = terminal.ReadSecret(c, "Token of "+server, "token-stdin", noTerminal)
	}
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(text)
	if !strings.HasPrefix(token, tokenPrefix) || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", core.Errorf(core.CodeInvalid, "", "that is no token: one begins with %s, and is shown when it is made on your account's page", tokenPrefix)
	}
	return token, nil
}

// LogoutCommand removes a login.
func LogoutCommand() *cli.Command {
	return &cli.Command{
		Name: "logout", Usage: "sign out of a site, and revoke the token", OnUsageError: terminal.UsageError,
		Description: "Example: drover logout --server https://drover.example.org",
		Flags:       terminal.WithSettings([]cli.Flag{terminal.JSONFlag()}, "client"),
		Action:      signOut,
	}
}

func signOut(c *cli.Context) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	cfg, err := terminal.Load(c)
	if err != nil {
		return err
	}
	l, err := oneLogin(cfg)
	if err != nil {
		return err
	}
	// The login is removed even if the token cannot be revoked.
	revoked := revoke(c, cfg, *l)
	if err := Logins(cfg.Logins).Forget(l.Server); err != nil {
		return err
	}
	if revoked != nil {
		return core.Wrap(revoked, core.CodeOf(revoked), l.Server, "the login is forgotten here, but its token is still good: revoke it on your account's page")
	}
	return terminal.Say(c, map[string]string{"server": l.Server, "user": l.User}, "signed out at %s, where you were %s", l.Server, l.User)
}

// revoke revokes the token of a login.
func revoke(c *cli.Context, cfg *config.Config, l Login) error {
	s, err := openSite(c, cfg, l)
	if err != nil {
		return err
	}
	err = s.RevokeToken(c.Context, l.ID)
	if remote.SignedOut(err) {
		err = nil // it was invalid already
	}
	return errors.Join(err, s.Close())
}

// oneLogin returns the login in the settings, or the only one.
func oneLogin(cfg *config.Config) (*Login, error) {
	all, err := Logins(cfg.Logins).Read()
	switch {
	case err != nil:
		return nil, err
	case cfg.Server != "":
		return loginAt(all, cfg.Server)
	case len(all) == 1:
		return &all[0], nil
	case len(all) == 0:
		return nil, core.Errorf(core.CodeNotFound, "", "you are not signed in anywhere")
	}
	var servers []string
	for _, l := range all {
		servers = append(servers, l.Server)
	}
	return nil, core.Errorf(core.CodeInvalid, "server", "you are signed in at %s: which one? --server URL", strings.Join(servers, ", "))
}

// identity is the acting user of a command.
type identity struct {
	At      string                   `json:"at"`
	User    string                   `json:"user"`
	Roles   []core.UserRole          `json:"roles"`
	Classes map[string]core.UserRole `json:"classes"`
}

// Whoami prints the acting user and the backend.
func Whoami(c *cli.Context, d Backend) error {
	if err := terminal.NoArgs(c); err != nil {
		return err
	}
	a, err := d.Who(c.Context)
	if err != nil {
		return err
	}
	is := identity{At: d.At(), User: a.Handle, Roles: terminal.OrEmpty(a.Roles), Classes: a.In}
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, is)
	}
	rows := []table.Row{{"at", terminal.Clean(is.At)}, {"user", terminal.Clean(is.User)}}
	for _, role := range is.Roles {
		rows = append(rows, table.Row{"role", terminal.Clean(string(role))})
	}
	var classes []string
	for class, role := range is.Classes {
		classes = append(classes, fmt.Sprintf("%s (%s)", class, role))
	}
	slices.Sort(classes)
	rows = append(rows, table.Row{"classes", terminal.Clean(cmp.Or(strings.Join(classes, ", "), "none"))})
	return terminal.PrintTable(c.App.Writer, "", table.Row{"", ""}, rows)
}
