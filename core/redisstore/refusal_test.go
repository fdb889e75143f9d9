package redisstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"
	"drover/core/redisstore"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// outages are the ways in which a Redis does not do what is asked of it. Change makes one; url, if it is not nil, names
// the server as somebody who may not use it.
var outages = map[string]struct {
	change func(t *testing.T, ctx context.Context, admin *redis.Client)
	url    func(url string) string
	code   core.Code
	says   string
}{
	"it became a replica": {change: func(t *testing.T, ctx context.Context, admin *redis.Client) {
		require.NoError(t, admin.Do(ctx, "REPLICAOF", "127.0.0.1", "1").Err())
	}, code: core.CodeUnavailable, says: "is a replica"},
	"its disk failed": {change: failedDisk, code: core.CodeUnavailable, says: "cannot save its data: free its disk"},
	"its replicas are gone": {change: func(t *testing.T, ctx context.Context, admin *redis.Client) {
		require.NoError(t, admin.ConfigSet(ctx, "min-replicas-to-write", "1").Err())
	}, code: core.CodeUnavailable, says: "fewer replicas follow it"},
	"it is full": {change: func(t *testing.T, ctx context.Context, admin *redis.Client) {
		require.NoError(t, admin.ConfigSet(ctx, "maxmemory", "1").Err())
	}, code: core.CodeFull, says: "Redis is full"},
	"its user may only read": {change: func(t *testing.T, ctx context.Context, admin *redis.Client) {
		require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", "reader", "on", ">s3cret", "~*", "+@read", "+@connection", "+info", "+evalsha", "+eval").Err())
	}, url: func(url string) string { return as(url, "reader:s3cret@") }, code: core.CodeUnavailable, says: "give the user those rights"},
	"its user may do nothing": {change: func(t *testing.T, ctx context.Context, admin *redis.Client) {
		require.NoError(t, admin.Do(ctx, "ACL", "SETUSER", "nobody", "on", ">s3cret").Err())
	}, url: func(url string) string { return as(url, "nobody:s3cret@") }, code: core.CodeUnavailable, says: "give the user those rights"},
	"the password is wrong": {url: func(url string) string { return as(url, "drover:wrong@") }, code: core.CodeUnavailable, says: "refuses the user or its password"},
	"it asks for a password": {change: func(t *testing.T, ctx context.Context, admin *redis.Client) {
		require.NoError(t, admin.ConfigSet(ctx, "requirepass", "s3cret").Err())
	}, url: func(url string) string { return as(url, "") }, code: core.CodeUnavailable, says: "asks for a user and a password"},
	"it is away": {url: func(url string) string { return url + ".gone" }, code: core.CodeUnavailable, says: "Redis does not answer"},
}

// as puts another user into a URL.
func as(url, user string) string {
	_, path, _ := strings.Cut(url, "@")
	return "unix://" + user + path
}

// failedDisk has a server's last try to save its data fail: there is a folder where its file should be.
func failedDisk(t *testing.T, ctx context.Context, admin *redis.Client) {
	require.NoError(t, os.MkdirAll(filepath.Join(filepath.Dir(admin.Options().Addr), "dump.rdb", "full"), 0o700))
	require.NoError(t, admin.ConfigSet(ctx, "save", "3600 1").Err())
	require.NoError(t, admin.BgSave(ctx).Err())
	require.Eventually(t, func() bool {
		text, err := admin.Info(ctx, "persistence").Result()
		return err == nil && strings.Contains(text, "rdb_last_bgsave_status:err")
	}, time.Minute, time.Millisecond)
}

func TestOutagesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, o := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			b := coretest.Alone(t)
			opts := b.Options()
			s := b.Open(t)
			before := b.Admin.HGetAll(ctx, b.Namespace+":meta").Val()
			require.NoError(t, s.CheckWrites(ctx), "before")
			require.Equal(t, before, b.Admin.HGetAll(ctx, b.Namespace+":meta").Val(), "it changes nothing")
			require.EqualValues(t, 1, b.Admin.DBSize(ctx).Val())
			if o.change != nil {
				o.change(t, ctx, b.Admin)
			}
			if o.url != nil {
				opts.URL = o.url(opts.URL)
			}
			if o.url == nil {
				require.NoError(t, s.Ping(ctx), "what only reads goes on")
				saysSo(t, s.CheckWrites(ctx), o.code, o.says)
				return
			}
			_, err := redisstore.Open(ctx, opts)
			saysSo(t, err, o.code, o.says)
			assert.Equal(t, name == "it is away", redisstore.IsSilent(err))
		})
	}
}

func saysSo(t *testing.T, err error, code core.Code, says string) {
	t.Helper()
	assert.Equal(t, code, core.CodeOf(err), "%v", err)
	assert.ErrorContains(t, err, says)
	assert.NotContains(t, errors.Join(err).Error(), "s3cret")
}
