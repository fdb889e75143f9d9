package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/operate"
	"drover/core/school"
)

// console is what operators type their commands at: the cluster itself, or its site.
type console interface {
	said(args ...string) string
	refused(code int, want string, args ...string)
}

// withGroups makes a cluster whose overseers do nothing with its groups, for there are none, and both consoles of it.
func withGroups(t *testing.T) (h *testCluster, consoles map[string]console) {
	t.Helper()
	h = newStillCluster(t)
	ctx := context.Background()
	s := newTestSite(t, h.cluster)
	_, err := h.cluster.Classes().CreateUser(ctx, access.Operator(), school.User{Handle: "olga", Name: "olga", Email: "olga@example.org", Roles: []core.UserRole{core.RoleOperator}})
	require.NoError(t, err)
	s.login("olga")
	return h, map[string]console{"cluster": h, "site": s}
}

func parsed[T any](t *testing.T, text string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

func TestHostGroupsByCommand(t *testing.T) {
	t.Parallel()
	_, consoles := withGroups(t)
	profile := filepath.Join(t.TempDir(), "profile.json")
	require.NoError(t, os.WriteFile(profile, []byte(`{"command": ["/bin/true"], "dir": "/var/lib/machines"}`), 0o600))
	types := filepath.Join(t.TempDir(), "types.json")
	require.NoError(t, os.WriteFile(types, []byte(`[{"name": "big", "size": {"cpu": 8000, "memory_bytes": 1, "disk_bytes": 1}, "cores": 8, "cost": 5}, {"name": "small", "size": {"cpu": 2000}, "cores": 2}]`), 0o600))
	for where, c := range consoles {
		require.Contains(t, c.said("host", "group", "list"), "no host groups: make one with", where)
		require.JSONEq(t, "[]", c.said("host", "group", "list", "--json"), where)
		for want, args := range map[string]string{
			"provider":                      "",
			"provider \"cloudy\" is none":   "--provider cloudy --profile " + profile,
			"min 5 must be between 0":       "--provider process --min 5 --max 2 --profile " + profile,
			"cannot be read":                "--provider process --profile /nowhere",
			"a time of 1ms must be between": "--provider process --goal 1ms --profile " + profile,
			"limits cores, but machine":     "--provider process --max-cores 4 --profile " + profile,
		} {
			c.refused(terminal.ExitUsage, want, append([]string{"host", "group", "set"}, append(strings.Fields(args), "burst")...)...)
		}
		c.refused(terminal.ExitUsage, "name", "host", "group", "set")
		for _, verb := range []string{"show", "pause", "resume", "remove"} {
			c.refused(terminal.ExitNotFound, "host group", "host", "group", verb, "burst")
			c.refused(terminal.ExitUsage, "name", "host", "group", verb)
		}

		g := parsed[core.HostGroup](t, c.said("host", "group", "set", "--json", "--provider", "process", "--profile", profile, "--types", types, "--max", "3",
			"--max-cores", "16", "--goal", "90s", "--spot", "--label", "zone=a", "burst"))
		require.Len(t, g.Types, 2, where)
		require.Equal(t, "process", g.Provider, where)
		require.True(t, g.Spot)
		require.Equal(t, []any{"zone=a", 3, 16, 90 * time.Second}, []any{g.Labels, g.Max, g.MaxCores, g.Goal})

		// What is not named stays, and what is named may be nothing.
		require.Contains(t, c.said("host", "group", "set", "--max-cores", "0", "--spot=false", "--label", "", "burst"), "host group burst is set")
		shown := parsed[operate.Group](t, c.said("host", "group", "show", "--json", "burst"))
		require.Equal(t, []any{"", 3, 0, 90 * time.Second, false}, []any{shown.Labels, shown.Max, shown.MaxCores, shown.Goal, shown.Spot}, where)
		require.JSONEq(t, `{"command": ["/bin/true"], "dir": "/var/lib/machines"}`, string(shown.Profile))
		c.said("host", "group", "set", "--types", "", "--cpu", "1.5", "burst")
		text := c.said("host", "group", "show", "burst")
		require.Contains(t, text, "1.5 cpus", where)
		require.NotContains(t, text, "machine big", where)

		require.Contains(t, c.said("host", "group", "pause", "burst"), "is paused")
		require.True(t, parsed[operate.Group](t, c.said("host", "group", "show", "--json", "burst")).Paused, where)
		require.Contains(t, c.said("host", "group", "list"), "paused", where)
		require.Contains(t, c.said("host", "group", "resume", "burst"), "makes and ends machines again")
		require.Len(t, parsed[[]operate.Group](t, c.said("host", "group", "list", "--json")), 1, where)
		require.Contains(t, c.said("host", "group", "remove", "burst"), "host group burst is removed")
	}
}

func TestInstancesByCommand(t *testing.T) {
	t.Parallel()
	h, consoles := withGroups(t)
	ctx := context.Background()
	_, err := h.cluster.Store.PutHostGroup(ctx, core.HostGroup{Name: "burst", Provider: core.CloudProcess, Max: 3, DrainFor: time.Minute})
	require.NoError(t, err)
	id := "burst-000000"
	for where, c := range consoles {
		id = strings.Replace(id, "00", "01", 1) // one for each
		i := core.Instance{ID: id, Group: "burst", Created: h.cluster.Now().UnixMilli()}
		c.refused(terminal.ExitNotFound, "instance", "host", "instance", "show", id)
		c.refused(terminal.ExitNotFound, "instance", "host", "instance", "terminate", id)
		c.refused(terminal.ExitUsage, "id", "host", "instance", "show")
		c.refused(terminal.ExitUsage, "is no state of an instance", "host", "instance", "list", "--state", "lost")
		c.refused(terminal.ExitUsage, "--limit is 1 to 1000", "host", "instance", "list", "--limit", "0")
		for _, s := range []core.InstanceState{core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined} {
			i.State, i.Since, i.Foreign = s, i.Created, "i-0123"
			i.Revision, err = h.cluster.Store.PutInstance(ctx, i)
			require.NoError(t, err)
		}
		c.refused(terminal.ExitRefused, "burst", "host", "group", "remove", "burst")
		require.Contains(t, c.said("host", "instance", "list", "--group", "burst", "--state", "joined"), id, where)
		require.JSONEq(t, "[]", c.said("host", "instance", "list", "--state", "valid", "--json"), where)
		require.Contains(t, c.said("host", "instance", "show", id), "i-0123", where)
		i = parsed[core.Instance](t, c.said("host", "instance", "terminate", "--json", id))
		require.Equal(t, core.InstanceDraining, i.State, where)
		require.Equal(t, time.Minute.Milliseconds(), i.Deadline-i.Since, where)
		require.Contains(t, c.said("host", "instance", "terminate", "--now", id), "is terminating", where)
		i = parsed[core.Instance](t, c.said("host", "instance", "show", "--json", id))
		i.State, i.Since = core.InstanceTerminated, i.Created
		_, err = h.cluster.Store.PutInstance(ctx, i)
		require.NoError(t, err)
		c.refused(terminal.ExitRefused, "is terminated", "host", "instance", "terminate", id)
	}
}

func TestHostTokensByCommand(t *testing.T) {
	t.Parallel()
	h, consoles := withGroups(t)
	for where, c := range consoles {
		c.refused(terminal.ExitUsage, "100", "host", "token", "create", "--uses", "101")
		c.refused(terminal.ExitNotFound, "host group", "host", "token", "create", "--group", "none")
		c.refused(terminal.ExitNotFound, "join token", "host", "token", "revoke", "none")
		made := parsed[struct {
			Secret string
			Token  core.JoinToken
		}](t, c.said("host", "token", "create", "--json", "--name", "host7", "--for", "5m"))
		require.Regexp(t, "^drj_", made.Secret, where)
		require.Empty(t, made.Token.Hash, where)
		require.Contains(t, c.said("host", "token", "create", "--uses", "2"), "drover join "+h.cluster.Config.SiteURL, where)
		require.Contains(t, c.said("host", "token", "list"), "host host7", where)
		for _, one := range parsed[[]core.JoinToken](t, c.said("host", "token", "list", "--json")) {
			require.Contains(t, c.said("host", "token", "revoke", one.ID), "is revoked", where)
		}
		require.Contains(t, c.said("host", "token", "list"), "no join tokens", where)
	}
}
