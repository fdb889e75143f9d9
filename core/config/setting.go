package config

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is what a setting's value looks like.
type Kind string

// The kinds.
const (
	KindText     Kind = "text"
	KindURL      Kind = "url"      // may hold a password
	KindNumber   Kind = "number"   // a whole number
	KindSize     Kind = "size"     // bytes, such as 64MiB
	KindDuration Kind = "duration" // with a unit, such as 5s
	KindList     Kind = "list"     // words with commas between them, or a YAML list
)

// FileSetting is the one setting that the file cannot hold: its own path.
const FileSetting = "config"

// EnvPrefix begins the environment variable of every setting.
const EnvPrefix = "DROVER_"

// Setting describes one setting, for flags, help and documents.
type Setting struct {
	Name    string // in the file: max_attempts
	Flag    string // on a command line, without hyphens in front: max-attempts
	Env     string // DROVER_MAX_ATTEMPTS
	Kind    Kind
	Default string // its value or, if it depends on the machine, a description
	Usage   string

	field int      // its place in Config; -1 for the file's path
	fixed bool     // Default is its value, not a description
	users []string // commands that read it; none means all
}

// Settings returns all settings in the order of Config, the file's path first. The list is shared and must not be
// changed.
func Settings() []Setting { return settings() }

// settings are made once, since each command asks for them.
var settings = sync.OnceValue(func() []Setting {
	all := []Setting{newSetting(FileSetting, -1)}
	all[0].Kind = KindText
	all[0].Default = "drover.yaml in the user's configuration folder, else /etc/drover/drover.yaml"
	all[0].Usage = "the one file of settings"
	t := reflect.TypeFor[Config]()
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		s := newSetting(f.Tag.Get("koanf"), i)
		s.Kind = kindOf(f.Type)
		if s.Default, s.fixed = f.Tag.Lookup("default"); !s.fixed {
			s.Default = f.Tag.Get("shown")
		}
		s.Usage = f.Tag.Get("usage")
		s.users = strings.Fields(f.Tag.Get("for"))
		all = append(all, s)
	}
	return all
})

// For returns the settings that any of the named commands reads, those for all
// commands included.
func For(commands ...string) []Setting {
	return slices.DeleteFunc(slices.Clone(Settings()), func(s Setting) bool {
		reads := func(command string) bool { return slices.Contains(s.users, command) }
		return len(s.users) > 0 && !slices.ContainsFunc(commands, reads)
	})
}

func newSetting(name string, field int) Setting {
	return Setting{
		Name: name, Flag: strings.ReplaceAll(name, "_", "-"), Env: EnvPrefix + strings.ToUpper(name), field: field,
	}
}

func kindOf(t reflect.Type) Kind {
	switch t {
	case reflect.TypeFor[URL]():
		return KindURL
	case reflect.TypeFor[Size]():
		return KindSize
	case reflect.TypeFor[time.Duration]():
		return KindDuration
	case reflect.TypeFor[int]():
		return KindNumber
	case reflect.TypeFor[[]string]():
		return KindList
	}
	return KindText
}
