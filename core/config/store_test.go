package config

import (
	"os"
	"path/filepath"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/require"
)

func TestStoreURLs(t *testing.T) {
	t.Parallel()
	for url, wrong := range map[string]string{
		"sqlite:///s.db": "",
		"mongodb://u:s3cret@h1:27017,h2:27017/drover?replicaSet=r": "",
		"mongodb://%2Frun%2Fmongodb.sock/drover":                   "",
		"mongodb+srv://u@db.example.org/drover":                    "",
		"mongodb://":                                               "names no host",
		"mongodb://u:s3cret@/drover":                               "names no host",
		"postgres://u:s3cret@h/d":                                  "it begins with postgres:",
	} {
		_, err := load(workstation(t), map[string]string{"store": url}, nil)
		if wrong == "" {
			require.NoError(t, err, url)
			continue
		}
		require.True(t, core.Is(err, core.CodeInvalid), url)
		require.ErrorContains(t, err, wrong)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestStorePasswordFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte("s3:cr@t +/%\n"), 0o600))
	c, err := load(workstation(t), map[string]string{"store": "mongodb://drover@h1:1,h2:2/d?replicaSet=r", "store_password_file": path}, nil)
	require.NoError(t, err)
	require.Equal(t, "mongodb://drover:s3%3Acr%40t%20%2B%2F%25@h1:1,h2:2/d?replicaSet=r", c.Store.Reveal())
	for _, v := range c.Redacted() {
		require.NotContains(t, v.Value, "s3")
	}
	require.Empty(t, c.In("/tmp/cluster").StorePasswordFile)
	for _, url := range []string{"mongodb://h1/d", "mongodb://drover:other@h1/d", "sqlite:///s.db"} {
		_, err := load(workstation(t), map[string]string{"store": url, "store_password_file": path}, nil)
		require.ErrorContains(t, err, "setting store_password_file")
		require.NotContains(t, err.Error(), "other")
	}
}
