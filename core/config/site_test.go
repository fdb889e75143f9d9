package config_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/config"
)

func TestSettingsOfTheSite(t *testing.T) {
	t.Parallel()
	c, err := config.Load(map[string]string{
		"site_url": "https://drover.example.org/", "proxies": "10.0.0.0/8,::1/128", "oidc_issuer": "https://login.example.org/realms/school",
		"oidc_client": "drover", "tango_images": "autograding_image=default,rust=rust", "data": t.TempDir(),
	}, nil)
	require.NoError(t, err)
	networks, err := c.ProxyNetworks()
	require.NoError(t, err)
	require.Len(t, networks, 2)
	require.Equal(t, "drover", c.SiteName)
	images, err := c.TangoPools()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"autograding_image": "default", "rust": "rust"}, images)

	for name, value := range map[string]string{
		"site_url": "drover.example.org", "proxies": "10.0.0.5", "site_name": strings.Repeat("x", 61), "announcement": strings.Repeat("x", 301),
		"tls_cert": "/only/this", "oidc_issuer": "https://login.example.org", "oidc_client": "drover",
		"tango_images": "rust", "judge0_pool": "no pool", "jobe_pool": "no pool",
	} {
		_, err := config.Load(map[string]string{name: value, "data": t.TempDir()}, nil)
		require.True(t, core.Is(err, core.CodeInvalid), "%s: %v", name, err)
	}
	for _, at := range []string{"https://drover.example.org/folder", "https://me:secret@drover.example.org", "ftp://x", "https://x/?a", "//x"} {
		_, err := config.Load(map[string]string{"site_url": at, "data": t.TempDir()}, nil)
		require.ErrorContains(t, err, "site_url", at)
		require.NotContains(t, err.Error(), "secret")
	}
}
