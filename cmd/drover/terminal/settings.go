package terminal

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
	"github.com/urfave/cli/v2"

	"drover/core"
	"drover/core/config"
)

// settingFlags are the flags by the commands that read the settings, made once: a hundred commands have the same ones.
var settingFlags sync.Map

// SettingFlags returns the flags of the settings that any of the named commands reads, including those that all
// commands read.
func SettingFlags(commands ...string) []cli.Flag {
	key := strings.Join(commands, " ")
	flags, made := settingFlags.Load(key)
	if !made {
		flags, _ = settingFlags.LoadOrStore(key, newSettingFlags(commands))
	}
	all, _ := flags.([]cli.Flag) // there is nothing else
	return slices.Clone(all)
}

func newSettingFlags(commands []string) []cli.Flag {
	var flags []cli.Flag
	for _, s := range config.For(commands...) {
		flags = append(flags, &cli.StringFlag{
			Name: s.Flag, Usage: s.Usage + " [$" + s.Env + "]", DefaultText: s.Default, Category: "Settings",
		})
	}
	return flags
}

// WithSettings adds the settings to a command's own flags, so that they may
// stand before or after its name.
func WithSettings(own []cli.Flag, commands ...string) []cli.Flag {
	return slices.Concat(own, SettingFlags(commands...))
}

// Load makes the configuration from the file, the environment and the flags that were given.
func Load(c *cli.Context) (*config.Config, error) {
	given := make(map[string]string)
	for _, s := range config.Settings() {
		if value, is := Given(c, s.Flag); is {
			given[s.Name] = value
		}
	}
	return config.Load(given, os.Environ())
}

// Given returns the value of a setting's flag, which may stand before the command's name, where c.String does not see it.
func Given(c *cli.Context, flag string) (value string, is bool) {
	for _, at := range slices.Backward(c.Lineage()) {
		if at.Command != nil && slices.Contains(at.LocalFlagNames(), flag) {
			value, is = at.String(flag), true
		}
	}
	return value, is
}

// NewLog makes the log of a component.
func NewLog(cfg *config.Config, to io.Writer) (*logrus.Logger, error) {
	level, err := logrus.ParseLevel(cfg.LogLevel)
	if err != nil {
		return nil, core.Errorf(core.CodeInvalid, cfg.LogLevel, "log level %q is none: use debug, info, warn or error", cfg.LogLevel)
	}
	log := logrus.New()
	log.SetOutput(to)
	log.SetLevel(level)
	if cfg.LogFormat == config.LogJSON {
		log.SetFormatter(&logrus.JSONFormatter{})
	} else {
		log.SetFormatter(&logrus.TextFormatter{FullTimestamp: true})
	}
	return log, nil
}

// NoArgs refuses arguments that a command does not take.
func NoArgs(c *cli.Context) error {
	if c.Args().Present() {
		return core.Errorf(core.CodeInvalid, c.Args().First(), "%s takes no argument %q; see its --help", c.Command.HelpName, c.Args().First())
	}
	return nil
}

// OneArg returns a command's one argument, or says which is missing.
func OneArg(c *cli.Context, what string) (string, error) {
	if c.NArg() != 1 {
		return "", core.Errorf(core.CodeInvalid, "", "%s takes one argument, the %s", c.Command.HelpName, what)
	}
	return c.Args().First(), nil
}
