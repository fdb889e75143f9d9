package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"drover/core"
	"drover/core/service/pattern"

	"golang.org/x/sys/unix"
)

// machine is what the computed defaults depend on.
type machine struct {
	hostname string
	root     bool
	cpus     int
	getenv   func(string) string
	system   string                // where the system's own folders are: "/"
	writable func(dir string) bool // dir exists and this user may make files in it
}

func thisMachine(environ []string) machine {
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "" // Validate then asks for --host
	}
	return machine{
		hostname: hostname,
		root:     os.Geteuid() == 0,
		cpus:     runtime.NumCPU(),
		getenv:   lookup(environ),
		system:   "/",
		writable: func(dir string) bool { return unix.Access(dir, unix.W_OK|unix.X_OK) == nil },
	}
}

func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, line := range environ {
			if value, ok := strings.CutPrefix(line, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// userFolder returns the folder that an XDG variable names or, without it, the
// usual one in the user's home; "" if there is no home either.
func (m machine) userFolder(variable string, usual ...string) string {
	if dir := m.getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "drover")
	}
	home := m.getenv("HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(append(append([]string{home}, usual...), "drover")...)
}

// usualFile returns the first file of settings that exists where people expect
// one, the user's own before the system's, or "".
func (m machine) usualFile() string {
	places := []string{filepath.Join(m.system, "etc", "drover")}
	if own := m.userFolder("XDG_CONFIG_HOME", ".config"); own != "" {
		places = append([]string{own}, places...)
	}
	for _, dir := range places {
		path := filepath.Join(dir, "drover.yaml")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// data returns the default data folder, or "" if there is none.
func (m machine) data() string {
	system := filepath.Join(m.system, "var", "lib", "drover")
	if m.root && (m.writable(system) || m.writable(filepath.Dir(system))) {
		return system
	}
	return m.userFolder("XDG_DATA_HOME", ".local", "share")
}

// fill computes the defaults of settings that nobody set.
func (c *Config) fill(m machine) error {
	if c.Host == "" {
		c.Host = hostName(m.hostname)
	}
	if c.Slots == 0 && c.Source("slots") == Default {
		c.Slots = m.cpus
	}
	if c.Data == "" {
		c.Data = m.data()
	}
	if c.Data == "" {
		return c.problem("data", "there is no home folder to put it in: name one with --data")
	}
	if own := m.userFolder("XDG_CONFIG_HOME", ".config"); c.Logins == "" && own != "" {
		c.Logins = filepath.Join(own, "logins.json")
	}
	if err := c.absolute("data", &c.Data); err != nil {
		return err
	}
	if c.Run == "" {
		c.Run = filepath.Join(c.Data, "run", c.Host)
	}
	c.fillURLs()
	return c.absolute("run", &c.Run)
}

// fillURLs derives missing URLs from the data folder.
func (c *Config) fillURLs() {
	if c.Redis == "" {
		c.Redis = URL("unix://" + filepath.Join(c.Data, "redis.sock"))
	}
	if c.Store == "" {
		c.Store = URL("sqlite://" + filepath.Join(c.Data, "drover.db"))
	}
	if c.Blobs == "" {
		c.Blobs = URL("file://" + filepath.Join(c.Data, "blobs"))
	}
}

// absolute makes a folder independent of where the program was started.
func (c *Config) absolute(name string, dir *string) error {
	if strings.HasPrefix(*dir, "~") {
		return c.problem(name, "%s begins with ~, which only a shell understands: write the folder out", *dir)
	}
	if strings.ContainsAny(*dir, "?#%") {
		return c.problem(name, "%s has one of ? # %% in it, which mean something else in the URLs made from it: choose another folder", *dir)
	}
	abs, err := filepath.Abs(*dir)
	if err != nil {
		return c.problem(name, "%w", err)
	}
	*dir = abs
	return nil
}

var notInName = pattern.New(`[^a-z0-9]+`)

// hostName makes a valid name from a machine's, or returns "" if nothing is left of it.
func hostName(machine string) string {
	name := notInName().ReplaceAllString(strings.ToLower(machine), "-")
	name = strings.Trim(name, "-")
	if len(name) > core.MaxNameLen {
		name = strings.Trim(name[:core.MaxNameLen], "-")
	}
	return name
}
