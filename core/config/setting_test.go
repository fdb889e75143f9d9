package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	settings := Settings()
	require.Equal(t, "config", settings[0].Name)
	seen := map[string]bool{}
	for _, s := range settings {
		assert.Regexp(t, `^[a-z][a-z0-9]*(_[a-z]+)*$`, s.Name)
		assert.False(t, seen[s.Name], "%s stands twice", s.Name)
		seen[s.Name] = true
		assert.NotEmpty(t, s.Usage, s.Name)
		for _, user := range s.users {
			assert.Contains(t, []string{"testrunner", "vmfactory", "taskrunner", "overseer", "web", "client"}, user, s.Name)
		}
	}
	last := settings[len(settings)-1]
	require.Equal(t, "keep_tombstones", last.Name)
	require.Equal(t, "keep-tombstones", last.Flag)
	require.Equal(t, "DROVER_KEEP_TOMBSTONES", last.Env)
	require.Equal(t, KindDuration, last.Kind)
	require.Equal(t, "1h", last.Default)
}

func TestForLeavesOutWhatACommandDoesNotRead(t *testing.T) {
	t.Parallel()
	names := func(commands ...string) []string {
		var all []string
		for _, s := range For(commands...) {
			all = append(all, s.Name)
		}
		return all
	}
	client := names()
	require.Contains(t, client, "redis")
	require.NotContains(t, client, "slots")
	require.Contains(t, names("testrunner"), "slots")
	require.NotContains(t, names("testrunner"), "provider")
	require.Len(t, names("testrunner", "vmfactory", "taskrunner", "overseer", "web", "client"), len(Settings()))
}

func TestHostName(t *testing.T) {
	t.Parallel()
	long := make([]byte, 80)
	for i := range long {
		long[i] = 'a'
	}
	long[62] = '.'
	for machine, want := range map[string]string{
		"one": "one", "One.Example.ORG": "one-example-org", "a__b": "a-b", ".x.": "x", "": "", "höst": "h-st",
		string(long): string(long[:62]),
	} {
		require.Equal(t, want, hostName(machine))
	}
}

func TestPasswordsStayHidden(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"redis://u:hunter2@db/0":                                                "redis://u:xxxxx@db/0",
		"redis://db/0?password=hunter2":                                         "redis://db/0?password=xxxxx",
		"s3://b?awssdk=v2&secret=hunter2":                                       "s3://b?awssdk=v2&secret=xxxxx",
		"redis://db:6379/0":                                                     "redis://db:6379/0",
		"redis://u:hunter2@db:notaport/0":                                       "a URL that cannot be read",
		"redis://u:hunter2%zz@db:6379/0":                                        "a URL that cannot be read",
		"unix:///run/redis.sock?db=2":                                           "unix:///run/redis.sock?db=2",
		"mongodb://u:hunter2@a:1/d?x=true":                                      "mongodb://u:xxxxx@a:1/d?x=true",
		"mongodb://u:hunter2@a:1,b:2/d":                                         "mongodb://u:xxxxx@a:1,b:2/d",
		"mongodb://u:hunter2/@a@b/d":                                            "mongodb://u:xxxxx@b/d",
		"mongodb://%2Frun%2Fm.sock/d?tlsCertificateKeyFilePassword=hunter2&w=1": "mongodb://%2Frun%2Fm.sock/d?tlsCertificateKeyFilePassword=xxxxx&w=1",
	} {
		c := Config{Redis: URL(raw)}
		require.Equal(t, want, c.Redis.String())
		encoded, err := json.Marshal(c)
		require.NoError(t, err)
		for _, shown := range []string{fmt.Sprintf("%v %+v %#v", c, c, c.Redacted()), fmt.Sprintf("%v", &c), string(encoded)} {
			require.NotContains(t, shown, "hunter2")
		}
		require.Equal(t, raw, c.Redis.Reveal())
	}
	_, err := load(workstation(t), map[string]string{"redis": "redis://u:hunter2@db:notaport", "store": "hunter2", "blobs": "http://[hunter2"}, nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestValuesReadBackAsTheyAreShown(t *testing.T) {
	t.Parallel()
	c, err := load(workstation(t), map[string]string{"pools": " a , b ", "max_waiting_bytes": "64MiB", "beat": "1500ms"}, nil)
	require.NoError(t, err)
	flags := map[string]string{}
	for _, v := range c.Redacted() {
		if v.Value != "" {
			flags[v.Name] = v.Value
		}
	}
	again, err := load(workstation(t), flags, nil)
	require.NoError(t, err)
	c.sources, again.sources = nil, nil
	require.True(t, reflect.DeepEqual(c, again), "%+v\n%+v", c, again)
	require.Equal(t, "a,b", flags["pools"])
	require.Equal(t, "64MiB", flags["max_waiting_bytes"])
}
