package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	"drover/core"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
	"github.com/xrash/smetrics"
)

// Load makes the configuration from the file, the environment ("NAME=value"
// lines) and the flags that were set explicitly (value by Setting.Name), and
// checks it. The error names every wrong setting, where it came from and how to
// mend it, and is INVALID.
func Load(flags map[string]string, environ []string) (*Config, error) {
	return load(thisMachine(environ), flags, environ)
}

func load(m machine, flags map[string]string, environ []string) (*Config, error) {
	c := &Config{sources: map[string]Source{}}
	set, err := flagLayer(flags)
	if err != nil {
		return nil, err
	}
	around, err := envLayer(environ)
	if err != nil {
		return nil, err
	}
	stored, err := c.fileLayer(m, set, around)
	if err != nil {
		return nil, err
	}
	err = errors.Join(c.decode(builtin()), c.decode(stored), c.decode(around), c.decode(set))
	if err != nil {
		return nil, err
	}
	c.findPasswords()
	if err := errors.Join(c.fill(m), c.readPasswords()); err != nil {
		return nil, err
	}
	return c, c.Validate()
}

// layer is the values that one place gives, by Setting.Name.
type layer struct {
	values map[string]any
	source func(Setting) Source
}

func builtin() layer {
	values := map[string]any{}
	for _, s := range Settings() {
		if s.fixed {
			values[s.Name] = s.Default
		}
	}
	return layer{values, func(Setting) Source { return Default }}
}

func flagLayer(flags map[string]string) (layer, error) {
	values := map[string]any{}
	for name, value := range flags {
		if !known(name) {
			return layer{}, core.Errorf(core.CodeInternal, name, "a flag sets %q, which is no setting", name)
		}
		values[name] = value
	}
	return layer{values, func(s Setting) Source { return Source("flag --" + s.Flag) }}, nil
}

func envLayer(environ []string) (layer, error) {
	k := koanf.New(".")
	err := k.Load(env.Provider("", env.Opt{
		Prefix: EnvPrefix,
		TransformFunc: func(key, value string) (string, any) {
			name := strings.ToLower(strings.TrimPrefix(key, EnvPrefix))
			if value == "" || !known(name) {
				return "", nil
			}
			return name, value
		},
		EnvironFunc: func() []string { return environ },
	}), nil)
	if err != nil {
		return layer{}, core.Wrap(err, core.CodeInvalid, "", "the environment cannot be read")
	}
	return layer{k.Raw(), func(s Setting) Source { return Source("environment " + s.Env) }}, nil
}

// fileLayer reads the file that a flag or the environment names, or else the
// first of the usual ones that exists.
func (c *Config) fileLayer(m machine, set, around layer) (layer, error) {
	path, asked := "", false
	for _, l := range []layer{around, set} {
		if value, ok := l.values[FileSetting]; ok {
			path, asked = fmt.Sprint(value), true
			c.sources[FileSetting] = l.source(newSetting(FileSetting, -1))
			delete(l.values, FileSetting)
		}
	}
	if !asked {
		path = m.usualFile()
	}
	if path == "" {
		return layer{}, nil
	}
	c.file = path
	k := koanf.New(".")
	switch err := k.Load(file.Provider(path), yaml.Parser()); {
	case errors.Is(err, fs.ErrNotExist):
		return layer{}, core.Errorf(core.CodeInvalid, path,
			"the file of settings %s (from %s) does not exist: make it, or name another with --config", path, c.Source(FileSetting))
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return layer{}, core.Wrap(err, core.CodeUnavailable, path, "the file of settings %s cannot be read now", path)
	case err != nil:
		return layer{}, core.Wrap(err, core.CodeInvalid, path, "the file of settings %s cannot be read: it must be YAML, one \"name: value\" a line", path)
	}
	values := k.Raw()
	return layer{values, func(Setting) Source { return Source("file " + path) }}, refuseStrangers(path, values)
}

// refuseStrangers refuses names in a file that are no settings.
func refuseStrangers(path string, values map[string]any) error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case name == FileSetting:
			problems = append(problems, core.Errorf(core.CodeInvalid, name, "file %s: %s cannot name another file: remove the line", path, name))
		case !known(name):
			problems = append(problems, core.Errorf(core.CodeInvalid, name, "file %s: there is no setting %q%s", path, name, suggest(name)))
		case values[name] == nil:
			problems = append(problems, core.Errorf(core.CodeInvalid, name, "file %s: %s has no value: give it one or remove the line", path, name))
		}
	}
	return errors.Join(problems...)
}

// suggest names the setting that a mistyped one was likely meant to be.
func suggest(name string) string {
	const close = 0.85 // of 1; finds a typing error or two, not another word
	name = strings.ReplaceAll(strings.ToLower(name), "-", "_")
	best, score := "", close
	for _, s := range Settings() {
		if like := smetrics.JaroWinkler(name, s.Name, 0.7, 4); s.field >= 0 && like > score {
			best, score = s.Name, like
		}
	}
	if best == "" {
		return ": 'drover help' lists them"
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

func known(name string) bool {
	return slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Name == name })
}

// problem is an INVALID error about one setting.
func (c *Config) problem(name, format string, args ...any) error {
	return core.Wrap(fmt.Errorf(format, args...), core.CodeInvalid, name, "setting %s (from %s)", name, c.Source(name))
}
