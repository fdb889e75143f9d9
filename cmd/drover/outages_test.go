package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/doctor"
	"drover/core"
	"drover/core/service"
)

// outage is something that is wrong with a cluster.
type outage struct {
	change func(t *testing.T, h *testCluster, admin *redis.Client)
	args   []string // of every command, in place of that

	late bool // no heartbeat came for some minutes

	about, says string   // doctor's one finding, and what helps
	mend        string   // part of it
	unwell      string   // the check of /healthz that fails; "" for none
	commands    []string // exit code and part of what they print: of user list, host list, run
}

const (
	works   = "0 " // exit codes
	refuses = "4 "
	away    = "5 "
)

func set(name, value string) func(*testing.T, *testCluster, *redis.Client) {
	return func(t *testing.T, _ *testCluster, admin *redis.Client) {
		require.NoError(t, admin.ConfigSet(t.Context(), name, value).Err())
	}
}

var knownOutages = map[string]outage{
	"Redis is down": {
		change: func(t *testing.T, h *testCluster, _ *redis.Client) { require.NoError(t, h.redis.Kill()) },
		about:  "redis", says: "does not answer", mend: "Start it, or mend the way to it", unwell: "redis",
		commands: []string{away + "Start it, or mend the way", away + "Start it, or mend the way", away + "Start it, or mend the way"},
	},
	"Redis has no replicas": {
		change: set("min-replicas-to-write", "1"), about: "redis", says: "takes no writes, since fewer replicas", mend: "start the missing ones", unwell: "redis",
		commands: []string{works, works + "h1", works}, late: true,
	},
	"the disk of Redis is full": {
		change: func(t *testing.T, h *testCluster, admin *redis.Client) {
			require.NoError(t, os.MkdirAll(filepath.Join(h.redis.Dir, "dump.rdb", "full"), 0o700))
			require.NoError(t, admin.ConfigSet(t.Context(), "save", "3600 1").Err())
			require.NoError(t, admin.ConfigSet(t.Context(), "appendonly", "no").Err())
			require.NoError(t, admin.BgSave(t.Context()).Err())
			await(t, "it fails", func() bool {
				text, err := admin.Info(t.Context(), "persistence").Result()
				return err == nil && strings.Contains(text, "rdb_last_bgsave_status:err")
			})
			require.NoError(t, admin.ConfigSet(t.Context(), "appendonly", "yes").Err()) // that it is off would be found, too
		},
		about: "redis", says: "cannot save its data", mend: "free its disk", unwell: "redis",
		commands: []string{works, works + "h1", works}, late: true,
	},
	"Redis is full": {
		change: set("maxmemory", "1"), about: "redis", says: "Redis is full", mend: "raise it", unwell: "redis",
		commands: []string{works, works + "h1", refuses + "Redis is full"},
	},
	"the password is wrong": {
		args: []string{"--redis", "unix://drover:wrong@SOCKET"}, about: "redis", says: "refuses the user or its password", mend: "redis_password_file",
		commands: []string{away + "redis_password_file", away + "redis_password_file", away + "redis_password_file"},
	},
	"the user has no rights": {
		change: func(t *testing.T, _ *testCluster, admin *redis.Client) {
			require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "idle", "on", ">s3cret").Err())
		},
		args: []string{"--redis", "unix://idle:s3cret@SOCKET"}, about: "redis", says: "does not allow its user", mend: "docs/operations.md",
		commands: []string{away + "those rights", away + "those rights", away + "those rights"},
	},
	"the store is away": {
		args: []string{"--store", "sqlite:///no/such/folder/drover.db"}, about: "store", says: "/no/such/folder/drover.db is not there", mend: "--store URL",
		commands: []string{"2 --store URL", "2 --store URL", "2 --store URL"},
	},
}

// Whatever is wrong, doctor says exactly that and what helps, and nothing beside it that only looks wrong because of it;
// /healthz of the site is not well; and commands do what can be done, or say the same.
func TestEveryOutageIsCalledByItsName(t *testing.T) {
	t.Parallel()
	for name, o := range knownOutages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestClusterHere(t)
			admin := adminOf(t, h.redis)
			h.pool()
			h.fake("h1", 1)
			h.restOfTheCrew()
			require.Empty(t, h.badFindings("doctor", "--json"), "before")
			if o.late {
				h.lateOwners(admin)
			}
			site := newTestSite(t, h.cluster)
			if o.change != nil {
				o.change(t, h, admin)
			}
			var instead []string
			for _, arg := range o.args {
				instead = append(instead, strings.Replace(arg, "SOCKET", h.redis.Socket, 1))
			}
			args := func(of ...string) []string { return slices.Concat(instead, of) }
			bad := h.badFindings(args("doctor", "--json")...)
			require.Len(t, bad, 1, "%+v", bad)
			assert.Equal(t, o.about, bad[0].About)
			assert.Equal(t, doctor.FindingFail, bad[0].Level)
			assert.Contains(t, bad[0].Text, o.says)
			assert.Contains(t, bad[0].Text+bad[0].Mend, o.mend)
			assert.NotContains(t, bad[0].Text+bad[0].Mend, "drover up")

			for i, of := range [][]string{{"user", "list"}, {"host", "list"}, {"run", "--no-wait", "--", "true"}} {
				out, errs, code := h.run(args(of...)...)
				want, says := o.commands[i][:1], o.commands[i][2:]
				assert.Equal(t, want, string(rune('0'+code)), "%v: %s%s", of, out, errs)
				assert.Contains(t, out+errs, says, of)
				assert.NotContains(t, out+errs, "drover up", of)
			}
			if o.args == nil {
				code, body := get(t, site.url+"/healthz")
				assert.Equal(t, http.StatusServiceUnavailable, code)
				var health service.HealthReport
				require.NoError(t, json.Unmarshal([]byte(body), &health))
				for _, check := range health.Checks {
					assert.Equal(t, check.Name != o.unwell, check.OK, check.Name)
				}
			}
		})
	}
}

// newTestClusterHere makes a cluster of which no process runs, with the server of its Redis.
func newTestClusterHere(t *testing.T) *testCluster {
	t.Helper()
	server := newRedis(t)
	h := newClusterOn(t, server.URL())
	h.redis, h.here = server, true
	require.NoError(t, h.cluster.Join(t.Context()))
	return h
}

// restOfTheCrew adds what a cluster has beside hosts of VMs, on a machine of its own.
func (h *testCluster) restOfTheCrew() {
	h.t.Helper()
	ctx := h.t.Context()
	_, err := h.cluster.Redis.Register(ctx, core.Registration{
		Owner: core.OwnerName(core.RoleTaskrunner, "control", 0), Host: "control", Machine: "control", Version: "dev", Beat: time.Hour,
	})
	require.NoError(h.t, err)
	require.NoError(h.t, h.cluster.Redis.Oversee(ctx, time.Hour))
}

// lateOwners has all heartbeats be overdue, as they are after some minutes in which Redis took none.
func (h *testCluster) lateOwners(admin *redis.Client) {
	h.t.Helper()
	for _, of := range []string{"owners", "hosts"} {
		key := h.cluster.Redis.Namespace().Key(of)
		names, err := admin.ZRange(h.t.Context(), key, 0, -1).Result()
		require.NoError(h.t, err)
		require.NotEmpty(h.t, names)
		for _, name := range names {
			past := float64(time.Now().Add(-10 * time.Minute).UnixMilli())
			require.NoError(h.t, admin.ZAdd(h.t.Context(), key, redis.Z{Score: past, Member: name}).Err())
		}
	}
}

// badFindings are doctor's that are not ok, without those on the machine that the tests run on.
func (h *testCluster) badFindings(args ...string) (bad doctor.Findings) {
	h.t.Helper()
	out, errs, _ := h.run(args...)
	var all doctor.Findings
	require.NoError(h.t, json.Unmarshal([]byte(out), &all), errs)
	for _, one := range all {
		about, _, _ := strings.Cut(one.About, " ")
		switch about {
		case "redis", "store", "blobs", "cluster", "owner", "host", "pool", "pools", "consistency", "overseer", "taskrunner", "testrunner", "vmfactory", "ledger", "versions":
			if one.Level != doctor.FindingOK {
				bad = append(bad, one)
			}
		}
	}
	return bad
}
