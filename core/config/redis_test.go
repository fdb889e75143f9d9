package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func TestRedisURLs(t *testing.T) {
	t.Parallel()
	for url, wrong := range map[string]string{
		"redis+sentinel://h1:26379/0?master_name=m&addr=h2:26379": "",
		"rediss+sentinel://drover@h1:26379?master_name=m":         "user drover and no password",
		"rediss+sentinel://drover:s3cret@h1:26379?master_name=m":  "",
		"redis+sentinel://h1?master_name=m&sentinel_username=w":   "sentinel_password_file",

		"redis://drover@h1":             "redis_password_file",
		"redis://drover:@h1":            "redis_password_file",
		"redis://:s3cret@h1":            "",
		"unix://drover@/run/redis.sock": "user drover and no password",
		"redis+sentinel://h1:26379/0":   "master_name=NAME",

		"redis+sentinel://h1:26379/0?master_name=m&password=s3cret": "redis_password_file",
		"redis+sentinel://?master_name=m":                           "names no host",
		"redis+cluster://h1:7000":                                   "redis+cluster:",
		"redis+other://h1":                                          "redis+other:",
	} {
		_, err := load(workstation(t), map[string]string{"redis": url}, nil)
		if wrong == "" {
			require.NoError(t, err, url)
			continue
		}
		require.True(t, core.Is(err, core.CodeInvalid), url)
		require.ErrorContains(t, err, wrong)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestSentinelPasswordFile(t *testing.T) {
	t.Parallel()
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	flags := map[string]string{
		"redis":               "redis+sentinel://drover@h1:26379/0?master_name=m&sentinel_username=watch",
		"redis_password_file": file("s3cr&t1\n"), "sentinel_password_file": file("s3cr&t2\n"),
	}
	c, err := load(workstation(t), flags, nil)
	require.NoError(t, err)
	require.Equal(t, "redis+sentinel://drover:s3cr&t1@h1:26379/0?master_name=m&sentinel_password=s3cr%26t2&sentinel_username=watch", c.Redis.Reveal())
	for _, v := range c.Redacted() {
		require.NotContains(t, v.Value, "s3cr")
	}
	require.Empty(t, c.In("/tmp/cluster").SentinelPasswordFile)
	for _, url := range []string{"redis://h1", "redis+sentinel://h1?master_name=m&sentinel_password=other"} {
		_, err := load(workstation(t), map[string]string{"redis": url, "sentinel_password_file": flags["sentinel_password_file"]}, nil)
		require.ErrorContains(t, err, "setting sentinel_password_file")
		require.NotContains(t, err.Error(), "other")
	}
}
