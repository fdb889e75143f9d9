// Package join has the command that makes a machine with nothing but this program a host of a cluster.
//
// Each step is written down before the next, so the command may be run again after any crash: the machine's key, then
// the files with secrets, then, by one rename, the settings. Once the settings are there the site is not asked again.
package join

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/account/secrets"
	"drover/core/cluster/join"
	"drover/core/config"
	remote "drover/web/client"
)

// Command is drover join.
func Command() *cli.Command {
	return &cli.Command{
		Name: "join", Usage: "make this machine a host of a cluster, and run it", ArgsUsage: "SITE", OnUsageError: terminal.UsageError,
		Description: "Asks the cluster's site for what a host needs to know, by a token that drover host token create makes, and\n" +
			"keeps that in files that only this user can read. Then it runs the host: a vmfactory, which attacks a VM of\n" +
			"its own before the host takes work, and a testrunner. It may be run again after a crash or a restart: a machine\n" +
			"that joined is run without asking the site.\n" +
			"Example: drover join --token-file /etc/drover/join-token https://drover.example.org",
		Flags: terminal.WithSettings([]cli.Flag{
			&cli.StringFlag{Name: "token", EnvVars: []string{"DROVER_JOIN_TOKEN"}, Usage: "join by the token `TOKEN`; lists of processes show it, so --token-file is better where others use the machine"},
			&cli.StringFlag{Name: "token-file", Usage: "read the token from the file `PATH`"},
			&cli.BoolFlag{Name: "token-stdin", Usage: "read the token from standard input", DisableDefaultText: true},
			&cli.BoolFlag{Name: "once", Usage: "do not run the host: end when the settings are there and the cluster answers", DisableDefaultText: true},
			&cli.StringFlag{Name: "supervisord", Usage: "do not run the host, but write a section for supervisord to the file `PATH`, such as /etc/supervisor/conf.d/drover.conf"},
			&cli.BoolFlag{Name: "replace", Usage: "replace settings that are there already", DisableDefaultText: true},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and do nothing", DisableDefaultText: true},
			&cli.DurationFlag{Name: "wait", Usage: "how long to try to reach the site: a `TIME`", Value: time.Minute},
			&cli.BoolFlag{Name: "insecure-http", Usage: "speak http to another machine: anyone who listens on the network can become a host", DisableDefaultText: true},
		}, "testrunner", "vmfactory"),
		Action: run,
	}
}

func run(c *cli.Context) error {
	name, err := terminal.OneArg(c, "address of the cluster's site")
	if err != nil {
		return err
	}
	site, err := remote.Site(name, c.Bool("insecure-http"))
	if err != nil {
		return err
	}
	file, _ := terminal.Given(c, "config")
	p := place{site: site.String(), file: cmp.Or(file, os.Getenv(config.EnvPrefix+"CONFIG"), usualFile())}
	if p.file == "" {
		return core.Errorf(core.CodeInvalid, "config", "this user has no folder for settings: name a file with --config")
	}
	if p.file, err = filepath.Abs(p.file); err != nil {
		return core.Wrap(err, core.CodeInvalid, "config", "the file of settings cannot be found")
	}
	before, err := p.look(c.Bool("replace"))
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return p.foretell(c, before)
	}
	if before == "" {
		if err := p.ask(c); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.App.Writer, "this machine joined %s as host %s before: its settings are in %s\n", p.site, before, p.file)
	}
	return p.start(c)
}

// usualFile is where the settings are kept.
func usualFile() string {
	if os.Geteuid() == 0 {
		return "/etc/drover/drover.yaml"
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "drover", "drover.yaml")
}

// foretell says what would be done.
func (p place) foretell(c *cli.Context, before string) error {
	say := func(format string, args ...any) { fmt.Fprintf(c.App.Writer, format+"\n", args...) }
	if before != "" {
		say("this machine joined %s as host %s before: the site would not be asked", p.site, before)
	} else {
		if _, err := readToken(c); err != nil {
			return err
		}
		say("would ask %s for what a host needs to know, and use up the token for this machine", p.site)
		say("would write it to %s, and passwords to files beside it, for this user only", p.file)
	}
	say("would see whether Redis, the result store and the files answer")
	switch {
	case c.String("supervisord") != "":
		say("would write a section for supervisord to %s", c.String("supervisord"))
	case !c.Bool("once"):
		say("would run a vmfactory and a testrunner; the host takes work once its self-test has passed")
	}
	return nil
}

// readToken returns the token, from the one place that was named.
func readToken(c *cli.Context) (string, error) {
	text, given := c.String("token"), 0
	for _, is := range []bool{text != "", c.String("token-file") != "", c.Bool("token-stdin")} {
		if is {
			given++
		}
	}
	if given != 1 {
		return "", core.Errorf(core.CodeInvalid, "token", "name the token by one of --token-file, --token-stdin, --token and DROVER_JOIN_TOKEN; drover host token create makes one")
	}
	var err error
	switch {
	case c.String("token-file") != "":
		text, err = terminal.ReadSecretFile(c.String("token-file"))
	case c.Bool("token-stdin"):
		text, err = terminal.ReadSecret(c, "", "token-stdin", "")
	}
	if err != nil {
		return "", err
	}
	if text = strings.TrimSpace(text); !secrets.WellFormed(secrets.Join, text) {
		return "", core.Errorf(core.CodeInvalid, "token", "that is no join token, or not the whole of one: it begins with %s, and drover host token create makes it", secrets.Join)
	}
	return text, nil
}

// maxSkew is how far apart the clocks of this machine and the site may be before it is mentioned. Certificates and
// signatures for buckets depend on it; drover itself reads Redis' clock.
const maxSkew = time.Minute

// ask asks the site and writes down what it says.
func (p place) ask(c *cli.Context) (err error) {
	token, err := readToken(c)
	if err != nil {
		return err
	}
	key, err := p.key()
	if err != nil {
		return err
	}
	client, err := remote.New(remote.Options{
		Server: p.site, Insecure: c.Bool("insecure-http"), Agent: "drover/" + access.Version, Timeout: cmp.Or(c.Duration("wait"), -1),
		Again: func(err error, _ time.Duration) {
			fmt.Fprintf(c.App.ErrWriter, "drover: %s; trying again\n", terminal.Clean(err.Error()))
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	asked := time.Now()
	host, _ := terminal.Given(c, "host")
	got, err := client.Join(c.Context, join.Ask{Token: token, Host: host, Machine: machineName(), Key: key})
	if err != nil {
		return err
	}
	if skew := asked.Sub(got.Now).Round(time.Second); skew.Abs() > maxSkew {
		fmt.Fprintf(c.App.ErrWriter, "drover: this machine's clock is %s off the site's: set it by NTP, or certificates and buckets may be refused\n", skew)
	}
	if err := core.CheckName("host", got.Host); err != nil {
		return core.Wrap(err, core.CodeVersion, p.site, "the answer of %s cannot be used", p.site)
	}
	if err := p.write(got); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "this machine is host %s%s of the cluster of %s; its settings are in %s\n", got.Host, terminal.Prefixed(" in group ", terminal.Clean(got.Group)), p.site, p.file)
	return nil
}

// machineName is the machine's name as a host could have it; "" if it has none.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	if core.CheckName("host", name) != nil {
		return ""
	}
	return name
}

// start sees whether the cluster answers, and runs the host unless somebody else is to.
func (p place) start(c *cli.Context) error {
	if err := c.Set("config", p.file); err != nil {
		return core.Wrap(err, core.CodeInternal, "config", "the file of settings cannot be named")
	}
	if at := p.beside(config.AWSCredentials); exists(at) && os.Getenv(awsFile) == "" {
		if err := os.Setenv(awsFile, at); err != nil {
			return core.Wrap(err, core.CodeInternal, awsFile, "the environment cannot be set")
		}
	}
	cfg, err := terminal.Load(c)
	if err != nil {
		return err
	}
	if err := access.MakeData(cfg); err != nil {
		return err
	}
	h, err := access.JoinCluster(c.Context, cfg)
	if err != nil {
		return core.Wrap(err, core.CodeOf(err), p.file, "this machine has its settings, in %s, but the cluster does not answer", p.file)
	}
	err = h.Blobs.Ping(c.Context)
	if err = errors.Join(err, h.Close()); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "Redis, the result store and the files answer\n")
	if at := c.String("supervisord"); at != "" {
		return p.supervise(c, at)
	}
	if c.Bool("once") {
		return nil
	}
	return wiring.RunHost(c)
}
