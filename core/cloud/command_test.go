package cloud_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/cloud"
	"drover/core/cloud/cloudtest"
)

func group(t *testing.T, name, provider string, profile any) core.HostGroup {
	t.Helper()
	text, err := json.Marshal(profile)
	require.NoError(t, err)
	return core.HostGroup{Name: name, Provider: provider, Profile: text, Max: 5}
}

func open(t *testing.T, cluster string, g core.HostGroup) cloud.Provider {
	t.Helper()
	require.NoError(t, cloud.Check(g))
	p, err := cloud.Open(cluster, g)
	require.NoError(t, err)
	return p
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

func program(t *testing.T, dir string) cloud.Command {
	t.Helper()
	script, err := filepath.Abs("testdata/machines.sh")
	require.NoError(t, err)
	return cloud.Command{Program: []string{"/bin/sh", script, dir}, UserData: "join {{instance}} {{group}} {{cluster}} {{type}} {{labels}} {{secret}}"}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	cloudtest.Run(t, func(t *testing.T) cloudtest.Place {
		t.Helper()
		dir := t.TempDir()
		return cloudtest.Place{
			Program: program(t, dir).Program,
			Open: func(t *testing.T, cluster, name string) cloud.Provider {
				t.Helper()
				return open(t, cluster, group(t, name, core.CloudCommand, program(t, dir)))
			},
			Half: func(t *testing.T, cluster, name string, o cloud.Order) {
				t.Helper()
				text := `{"machine":"m-` + cluster + "." + o.Token + `","instance":"` + o.Token + `","cluster":"` + cluster + `","group":"` + name + `","created_ms":1}`
				require.NoError(t, os.WriteFile(filepath.Join(dir, cluster+"."+o.Token), []byte(text), 0o600))
			},
			Count: func(t *testing.T, cluster string) int {
				t.Helper()
				files, err := filepath.Glob(filepath.Join(dir, cluster+".*"))
				require.NoError(t, err)
				return len(files)
			},
		}
	})
}

// What a program says by its exit status, and that nothing but what is said gets to it.
func TestWhatAProgramIsAsked(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DROVER_STORE_PASSWORD", "hidden")
	t.Setenv("CLOUD_ACCOUNT", "ours")
	says := program(t, dir)
	says.Env, says.Timeout, says.Settings = []string{"CLOUD_ACCOUNT"}, "1m", []byte(`{"zone":"a"}`)
	g := group(t, "burst", core.CloudCommand, says)
	g.Spot = true
	p := open(t, "one", g)
	says.Timeout = "1s"
	hasty := open(t, "one", group(t, "burst", core.CloudCommand, says))
	o := cloud.Order{Token: "burst-000001", Made: 7, Group: "burst", Type: "big", Labels: "zone=a", Secret: "s3cret"}
	for kind, want := range map[string]core.Code{"full": core.CodeLimit, "wrong": core.CodeInvalid, "forbidden": core.CodeForbidden, "broken": core.CodeUnavailable, "slow": core.CodeUnavailable} {
		of := p
		if kind == "slow" {
			of = hasty
		}
		o.Type = kind
		_, err := of.Create(t.Context(), o)
		require.Equal(t, want, core.CodeOf(err), "%s: %v", kind, err)
		if kind == "full" {
			require.ErrorContains(t, err, "no room")
		}
	}
	o.Type = "big"
	_, err := p.Create(t.Context(), o)
	require.NoError(t, err)
	read := func(what string) string {
		files, err := filepath.Glob(filepath.Join(dir, "new.*."+what))
		require.NoError(t, err)
		require.Len(t, files, 1)
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		require.NoError(t, os.Remove(files[0]))
		return string(text)
	}
	env := read("env")
	for _, want := range []string{
		"CLOUD_ACCOUNT=ours", "DROVER_PROTOCOL=1", "DROVER_OP=create", "DROVER_CLUSTER=one", "DROVER_GROUP=burst", "DROVER_SPOT=true",
		"DROVER_INSTANCE=burst-000001", "DROVER_TYPE=big", "DROVER_LABELS=zone=a",
	} {
		require.Contains(t, env, want+"\n")
	}
	for _, secret := range []string{"hidden", "s3cret"} {
		require.NotContains(t, env, secret)
	}
	type said struct {
		ClientToken string `json:"client_token"`
	}
	var one, other said
	text := read("said")
	require.NoError(t, json.Unmarshal([]byte(text), &one))
	require.Regexp(t, "^[0-9a-f]{32}$", one.ClientToken)
	require.Contains(t, env, "DROVER_CLIENT_TOKEN="+one.ClientToken+"\n")
	require.JSONEq(t, `{"protocol":1,"op":"create","cluster":"one","group":"burst","spot":true,"settings":{"zone":"a"},"instance":"burst-000001",
		"client_token":"`+one.ClientToken+`","type":"big","labels":"zone=a","secret":"s3cret","user_data":"join burst-000001 burst one big zone=a s3cret"}`, text)

	o.Secret = "another"
	for made, same := range map[int64]bool{7: true, 8: false} { // 8: an instance of that name was made anew
		o.Made = made
		_, err = p.Create(t.Context(), o)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(read("said")), &other))
		require.Equal(t, same, one == other)
	}
}

func TestWhatAProgramAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   core.Code
		says   string
	}{
		"too much":            {"yes | head -c 9000000", core.CodeLimit, "more than"},
		"no JSON":             {"echo hello", core.CodeUnavailable, "printed for list"},
		"nothing":             {"true", core.CodeUnavailable, "printed for list"}, // which is no empty list
		"half a machine":      {`echo '{"protocol":1}'; echo '{"machine":'`, core.CodeUnavailable, "cannot be read"},
		"no version":          {`echo '{"machine":"a","instance":"b","cluster":"one"}'`, core.CodeInvalid, "by protocol 0, and this drover speaks 1"},
		"another version":     {`echo '{"protocol":2}'`, core.CodeInvalid, "by protocol 2, and this drover speaks 1"},
		"that it speaks none": {"exit 76", core.CodeInvalid, "does not speak protocol 1"},
		"another's":           {`echo '{"protocol":1}{"machine":"a","instance":"b","cluster":"two"}'`, "", ""},
		"a long error":        {"yes | head -c 100000 >&2; exit 3", core.CodeUnavailable, "y y y"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, "one", group(t, "burst", core.CloudCommand, cloud.Command{Program: []string{"/bin/sh", "-c", c.script}}))
			all, err := p.List(t.Context())
			require.Equal(t, c.code, core.CodeOf(err), "%v", err)
			require.Empty(t, all)
			if err != nil {
				require.Less(t, len(err.Error()), 10_000)
				require.ErrorContains(t, err, c.says)
			}
		})
	}
	p := open(t, "one", group(t, "burst", core.CloudCommand, cloud.Command{Program: []string{"/bin/sh", "-c", `echo '{"protocol":1}'`}}))
	_, err := p.Create(t.Context(), cloud.Order{Token: "burst-000001"})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "its name")
}

func TestProfilesThatCannotBe(t *testing.T) {
	t.Parallel()
	sh := []string{"/bin/sh"}
	spot := group(t, "burst", core.CloudCommand, cloud.Command{Program: sh, Notices: "pigeon"})
	spot.Spot = true
	for name, g := range map[string]core.HostGroup{
		"an unknown field":      {Name: "burst", Provider: core.CloudCommand, Profile: []byte(`{"program":["/bin/sh"],"delete":["/bin/sh"]}`)},
		"no profile":            {Name: "burst", Provider: core.CloudCommand},
		"a relative program":    group(t, "burst", core.CloudCommand, cloud.Command{Program: []string{"sh"}}),
		"a long timeout":        group(t, "burst", core.CloudCommand, cloud.Command{Program: sh, Timeout: "1h"}),
		"a value of a variable": group(t, "burst", core.CloudCommand, cloud.Command{Program: sh, Env: []string{"A=B"}}),
		"a secret argument":     group(t, "burst", core.CloudProcess, cloud.Process{Command: []string{"/bin/sh", "{{secret}}"}, Dir: "/tmp"}),
		"unknown notices":       spot,
		"an unknown provider":   {Name: "burst", Provider: "paper"},
	} {
		require.Equal(t, core.CodeInvalid, core.CodeOf(cloud.Check(g)), name)
		_, err := cloud.Open("one", g)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
	}
}

// Only hosts whose machines have such a service ask it.
func TestWhoseMachinesHearOfNotices(t *testing.T) {
	t.Parallel()
	g := group(t, "burst", core.CloudCommand, cloud.Command{Program: []string{"/bin/sh"}, Notices: cloud.NoticesEC2})
	g.Spot = true
	require.True(t, cloud.Noticed(g))
	demand := g
	demand.Spot = false
	silent := group(t, "burst", core.CloudCommand, cloud.Command{Program: []string{"/bin/sh"}})
	silent.Spot = true
	process := group(t, "burst", core.CloudProcess, cloud.Process{Command: []string{"/bin/sh"}, Dir: "/tmp"})
	process.Spot = true
	for name, g := range map[string]core.HostGroup{"on demand": demand, "no such service": silent, "processes": process} {
		require.False(t, cloud.Noticed(g), name)
	}
}
