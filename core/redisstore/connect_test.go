package redisstore_test

import (
	"testing"

	"drover/core"
	"drover/core/redisstore"

	"github.com/stretchr/testify/require"
)

func TestSentinelURL(t *testing.T) {
	t.Parallel()
	conf, err := redisstore.ParseSentinel("rediss+sentinel://drover:s1@h1:26379/2?master_name=m&addr=h2:26380&sentinel_username=w&sentinel_password=s2&read_timeout=3s")
	require.NoError(t, err)
	require.Equal(t, []string{"h1:26379", "h2:26380"}, conf.SentinelAddrs)
	require.Equal(t, []string{"m", "drover", "s1", "w", "s2"},
		[]string{conf.MasterName, conf.Username, conf.Password, conf.SentinelUsername, conf.SentinelPassword})
	require.Equal(t, 2, conf.DB)
	require.NotNil(t, conf.TLSConfig)
	require.Empty(t, conf.TLSConfig.ServerName, "the first Sentinel's name is not that of the others")
}

func TestOpenRefusesURLs(t *testing.T) {
	t.Parallel()
	for url, mend := range map[string]string{
		"redis://me:s3cret@host:port":                         "unix:///path/to/socket",
		"http://host":                                         "redis://host:port/db",
		"redis+ring://host":                                   "stands sentinel",
		"redis+sentinel://me:s3cret@host":                     "master_name=NAME",
		"redis+sentinel://host?master_name=m&password=s3cret": "in front of the host",
		"redis+sentinel://host?master_name=m&colour=s3cret":   "addr=host2:26379",
		"http+sentinel://me:s3cret@host?master_name=m":        "redis+sentinel://",
		"redis+cluster://me:s3cret@host:7000":                 "stands sentinel",
	} {
		_, err := redisstore.Open(t.Context(), redisstore.Options{URL: url, Namespace: "t"})
		refused(t, err, core.CodeInvalid)
		require.ErrorContains(t, err, mend, url)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
