package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
)

// workstation is a machine of somebody who is not root.
func workstation(t *testing.T) machine {
	t.Helper()
	return machine{
		hostname: "Ws-1.Example.org", cpus: 4, system: t.TempDir(),
		getenv:   lookup([]string{"HOME=/home/ada"}),
		writable: func(string) bool { return false },
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "drover.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(workstation(t), nil, nil)
	require.NoError(t, err)
	require.Equal(t, "/home/ada/.local/share/drover", c.Data)
	require.Equal(t, "ws-1-example-org", c.Host)
	require.Equal(t, "/home/ada/.local/share/drover/run/ws-1-example-org", c.Run)
	require.Equal(t, "unix:///home/ada/.local/share/drover/redis.sock", c.Redis.Reveal())
	require.Equal(t, "sqlite:///home/ada/.local/share/drover/drover.db", c.Store.Reveal())
	require.Equal(t, "file:///home/ada/.local/share/drover/blobs", c.Blobs.Reveal())
	require.Equal(t, "drover", c.Namespace)
	require.Equal(t, time.Second, c.Beat)
	require.Equal(t, 3*time.Second, c.Suspect)
	require.Equal(t, 5*time.Second, c.Down)
	require.Equal(t, 1_000_000, c.MaxWaiting)
	require.Equal(t, Size(1<<30), c.MaxWaitingBytes)
	require.Equal(t, 30*24*time.Hour, c.KeepFinished)
	require.Equal(t, 4, c.Slots)
	require.Equal(t, []string{"all"}, c.Pools)
	require.Empty(t, c.Listen)
	require.Empty(t, c.MetricsAddress("overseer"))
	require.Empty(t, c.File())
	for _, v := range c.Redacted() {
		assert.Equal(t, Default, v.Source, v.Name)
	}
}

func TestDataFolder(t *testing.T) {
	t.Parallel()
	all := func(string) bool { return true }
	onlyParent := func(dir string) bool { return dir == "/var/lib" }
	for name, tc := range map[string]struct {
		root     bool
		writable func(string) bool
		env      []string
		want     string
	}{
		"root":                        {true, all, []string{"HOME=/root"}, "/var/lib/drover"},
		"root who can make it":        {true, onlyParent, []string{"HOME=/root"}, "/var/lib/drover"},
		"root of a read-only machine": {true, func(string) bool { return false }, []string{"HOME=/root"}, "/root/.local/share/drover"},
		"user who could":              {false, all, []string{"HOME=/home/ada"}, "/home/ada/.local/share/drover"},
		"XDG":                         {false, all, []string{"HOME=/home/ada", "XDG_DATA_HOME=/big"}, "/big/drover"},
		"relative XDG is void":        {false, all, []string{"HOME=/home/ada", "XDG_DATA_HOME=big"}, "/home/ada/.local/share/drover"},
		"nobody":                      {false, all, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine{root: tc.root, writable: tc.writable, getenv: lookup(tc.env), system: "/", hostname: "h", cpus: 1}
			require.Equal(t, tc.want, m.data())
			if tc.want == "" {
				_, err := load(m, nil, nil)
				require.ErrorContains(t, err, "--data")
			}
		})
	}
}

func TestThisMachineIsEnough(t *testing.T) {
	t.Parallel()
	c, err := Load(map[string]string{"data": t.TempDir(), "config": write(t, "")}, nil)
	require.NoError(t, err)
	require.True(t, core.ValidName(c.Host))
	require.Positive(t, c.Slots)
	home := t.TempDir()
	m := thisMachine([]string{"HOME=" + home})
	require.True(t, m.writable(home))
	require.False(t, m.writable(filepath.Join(home, "missing")))
}

func TestFlagsWinOverEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	path := write(t, "slots: 2\nbeat: 200ms\npools: [a, b]\nmax_waiting_bytes: 4096000\nnamespace: filed\n")
	c, err := load(workstation(t),
		map[string]string{"slots": "8", "config": path},
		[]string{"DROVER_SLOTS=5", "DROVER_NAMESPACE=around", "DROVER_POOLS=", "DROVER_SERVICE_PORT=1", "DROVER_CONFIG=/nowhere"})
	require.NoError(t, err)
	require.Equal(t, 8, c.Slots)
	require.Equal(t, "around", c.Namespace)
	require.Equal(t, 200*time.Millisecond, c.Beat)
	require.Equal(t, []string{"a", "b"}, c.Pools)
	require.Equal(t, Size(4096000), c.MaxWaitingBytes)

	require.Equal(t, path, c.File())
	require.Equal(t, Source("flag --config"), c.Source("config"))
	require.Equal(t, Source("flag --slots"), c.Source("slots"))
	require.Equal(t, Source("environment DROVER_NAMESPACE"), c.Source("namespace"))
	require.Equal(t, Source("file "+path), c.Source("beat"))
	require.Equal(t, Default, c.Source("poll"))
}

func TestUsualFile(t *testing.T) {
	t.Parallel()
	put := func(dir string) string {
		require.NoError(t, os.MkdirAll(dir, 0o700))
		path := filepath.Join(dir, "drover.yaml")
		require.NoError(t, os.WriteFile(path, []byte("slots: 3\n"), 0o600))
		return path
	}
	m := workstation(t)
	own := t.TempDir()
	m.getenv = lookup([]string{"HOME=/home/ada", "XDG_CONFIG_HOME=" + own})
	require.Empty(t, m.usualFile())

	system := put(filepath.Join(m.system, "etc", "drover"))
	c, err := load(m, nil, nil)
	require.NoError(t, err)
	require.Equal(t, system, c.File())
	require.Equal(t, 3, c.Slots)

	users := put(filepath.Join(own, "drover"))
	require.Equal(t, users, m.usualFile(), "the user's own file comes first")
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file  string
		flags map[string]string
		env   []string
		want  []string
	}{
		"mistyped name":       {file: "max_atempts: 3", want: []string{`"max_atempts"`, "did you mean max_attempts?", "drover.yaml"}},
		"name with hyphen":    {file: "max-attempts: 3", want: []string{"did you mean max_attempts?"}},
		"strange name":        {file: "colour: red", want: []string{`"colour"`, "drover help"}},
		"two strange names":   {file: "colour: red\nredi: x", want: []string{`"colour"`, "did you mean redis?"}},
		"file names a file":   {file: "config: /other", want: []string{"cannot name another file"}},
		"no value":            {file: "redis:", want: []string{"redis has no value"}},
		"not YAML":            {file: "just words", want: []string{"must be YAML"}},
		"twice":               {file: "slots: 1\nslots: 2", want: []string{"must be YAML", "already defined"}},
		"time without unit":   {file: "beat: 5", want: []string{"setting beat", "file ", "such as 5s"}},
		"fraction":            {file: "slots: 2.5", want: []string{"setting slots", `"2.5"`, "whole number"}},
		"list in a list":      {file: "pools: [[a]]", want: []string{"setting pools", "list of words"}},
		"group":               {file: "redis:\n  url: x", want: []string{"setting redis", "one text"}},
		"number for text":     {file: "namespace: 12", want: []string{"put it in quotes"}},
		"bad size":            {env: []string{"DROVER_MAX_WAITING_BYTES=plenty"}, want: []string{"environment DROVER_MAX_WAITING_BYTES", "512MiB"}},
		"bad number":          {flags: map[string]string{"slots": "many"}, want: []string{"flag --slots", `"many"`}},
		"out of range":        {flags: map[string]string{"max_attempts": "0"}, want: []string{"setting max_attempts (from flag --max-attempts)", "between 1 and 100"}},
		"explicit no slots":   {flags: map[string]string{"slots": "0"}, want: []string{"setting slots"}},
		"deaths below 0":      {flags: map[string]string{"max_deaths": "-1"}, want: []string{"setting max_deaths", "between 0 and 100"}},
		"unknown monitor":     {flags: map[string]string{"monitors": "heartbeat,oracle"}, want: []string{"setting monitors", `"oracle" is no monitor`, "provider"}},
		"none beside one":     {flags: map[string]string{"monitors": "none,report"}, want: []string{"setting monitors", `"none" is no monitor`}},
		"monitor twice":       {flags: map[string]string{"monitors": "report,report"}, want: []string{"report is named twice"}},
		"checks all the time": {flags: map[string]string{"consistency_every": "10ms"}, want: []string{"setting consistency_every", "at least 1s"}},
		"down before late":    {flags: map[string]string{"down": "1s"}, want: []string{"setting down", "suspect"}},
		"beat over suspect":   {flags: map[string]string{"beat": "1m"}, want: []string{"setting suspect", "the beat"}},
		"pool name":           {flags: map[string]string{"pools": "a,B"}, want: []string{"setting pools", `"B"`}},
		"pool twice":          {flags: map[string]string{"pools": "a,a"}, want: []string{"named twice"}},
		"no pool":             {file: "pools: []", want: []string{"names no pool"}},
		"host name":           {flags: map[string]string{"host": "a_b"}, want: []string{"setting host (from flag --host)"}},
		"namespace":           {flags: map[string]string{"namespace": "a:b"}, want: []string{"setting namespace"}},
		"log level":           {flags: map[string]string{"log_level": "loud"}, want: []string{"debug, info, warn or error"}},
		"log format":          {flags: map[string]string{"log_format": "xml"}, want: []string{"text or json"}},
		"listen":              {flags: map[string]string{"listen": "9420"}, want: []string{"setting listen", "HOST:PORT"}},
		"metrics listen":      {flags: map[string]string{"metrics_listen": "9420"}, want: []string{"setting metrics_listen", "HOST:PORT"}},
		"metrics by name":     {flags: map[string]string{"metrics_listen": ":http"}, want: []string{"setting metrics_listen", `"http"`}},
		"no room for four":    {flags: map[string]string{"metrics_listen": "127.0.0.1:65533"}, want: []string{"setting metrics_listen", "65532"}},
		"URL scheme":          {flags: map[string]string{"redis": "http://x"}, want: []string{"setting redis", "http:", "rediss"}},
		"no URL":              {flags: map[string]string{"store": "/var/x.db"}, want: []string{"setting store", "sqlite:///PATH"}},
		"home folder":         {flags: map[string]string{"data": "~/cluster"}, want: []string{"setting data", "only a shell"}},
		"folder like a URL":   {flags: map[string]string{"data": "/a?b"}, want: []string{"setting data", "? # %"}},
		"long socket":         {flags: map[string]string{"data": "/" + strings.Repeat("d", 120)}, want: []string{"setting redis", "107 bytes", "--data"}},
		"missing file":        {flags: map[string]string{"config": "/nowhere/x.yaml"}, want: []string{"/nowhere/x.yaml (from flag --config) does not exist"}},
		"several at once":     {flags: map[string]string{"beat": "1", "slots": "x"}, want: []string{"setting beat", "setting slots"}},
		"several that clash":  {flags: map[string]string{"max_vms": "-1", "poll": "0s"}, want: []string{"setting max_vms", "setting poll"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := tc.flags
			if tc.file != "" {
				flags = map[string]string{"config": write(t, tc.file)}
			}
			c, err := load(workstation(t), flags, tc.env)
			require.Error(t, err, "%+v", c)
			require.True(t, core.Is(err, core.CodeInvalid), "%v", err)
			for _, want := range tc.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

// One environment does for all components of a host.
func TestEachRoleHasAPortOfItsOwn(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string][]string{
		"127.0.0.1:9420": {"127.0.0.1:9420", "127.0.0.1:9421", "127.0.0.1:9422", "127.0.0.1:9423"},
		"[::1]:65532":    {"[::1]:65532", "[::1]:65533", "[::1]:65534", "[::1]:65535"},
		":0":             {":0", ":0", ":0", ":0"},
	} {
		c, err := load(workstation(t), map[string]string{"metrics_listen": setting}, nil)
		require.NoError(t, err)
		for i, role := range []string{"vmfactory", "testrunner", "taskrunner", "overseer"} {
			require.Equal(t, want[i], c.MetricsAddress(role))
		}
	}
}

func TestUnknownFlagIsABug(t *testing.T) {
	t.Parallel()
	_, err := load(workstation(t), map[string]string{"nothing": "1"}, nil)
	require.True(t, core.Is(err, core.CodeInternal), "%v", err)
}

func TestPasswordFile(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("s3cr:t/\n"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, []byte("\n"), 0o600))

	for url, want := range map[string]string{
		"redis://db:6379/0":      "redis://:s3cr%3At%2F@db:6379/0",
		"redis://drover@db:6379": "redis://drover:s3cr%3At%2F@db:6379",
		"unix:///run/redis.sock": "unix://:s3cr%3At%2F@/run/redis.sock",
		"unix://me@/r.sock?db=1": "unix://me:s3cr%3At%2F@/r.sock?db=1",
	} {
		c, err := load(workstation(t), map[string]string{"redis": url, "redis_password_file": secret}, nil)
		require.NoError(t, err)
		require.Equal(t, want, c.Redis.Reveal())
		for _, v := range c.Redacted() {
			require.NotContains(t, v.Value, "s3cr")
		}
	}
	for _, flags := range []map[string]string{
		{"redis": "redis://:other@db", "redis_password_file": secret},
		{"redis_password_file": empty},
		{"redis_password_file": secret + "-missing"},
	} {
		_, err := load(workstation(t), flags, nil)
		require.ErrorContains(t, err, "setting redis_password_file (from flag --redis-password-file)")
		require.NotContains(t, err.Error(), "other")
	}
	_, err := load(workstation(t), map[string]string{"redis_password_file": secret + "-missing"}, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestInLivesInOneFolder(t *testing.T) {
	t.Parallel()
	c, err := load(workstation(t), map[string]string{"redis": "redis://:pw@db", "store": "sqlite:///s.db", "run": "/r", "pools": "a"}, nil)
	require.NoError(t, err)
	in := c.In("/tmp/cluster")
	in.Pools[0] = "b"
	require.Equal(t, "unix:///tmp/cluster/redis.sock", in.Redis.Reveal())
	require.Equal(t, "sqlite:///tmp/cluster/drover.db", in.Store.Reveal())
	require.Equal(t, "file:///tmp/cluster/blobs", in.Blobs.Reveal())
	require.Equal(t, "/tmp/cluster/run/ws-1-example-org", in.Run)
	require.Equal(t, Default, in.Source("redis"))
	require.NoError(t, in.Validate())

	require.Equal(t, "redis://:pw@db", c.Redis.Reveal(), "the original stays")
	require.Equal(t, []string{"a"}, c.Pools)
	require.Equal(t, Source("flag --redis"), c.Source("redis"))
}
