package cloud_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	p, err := cloud.Open(t.Context(), cluster, g)
	require.NoError(t, err)
	return p
}

func programs(t *testing.T, dir string) cloud.Command {
	t.Helper()
	script, err := filepath.Abs("testdata/machines.sh")
	require.NoError(t, err)
	line := []string{"/bin/sh", script, dir}
	return cloud.Command{Create: line, Terminate: line, List: line, UserData: "join {{instance}} {{group}} {{cluster}} {{type}} {{labels}} {{secret}}"}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	cloudtest.Run(t, func(t *testing.T) cloudtest.Place {
		t.Helper()
		dir := t.TempDir()
		return cloudtest.Place{
			Open: func(t *testing.T, cluster, name string) cloud.Provider {
				t.Helper()
				return open(t, cluster, group(t, name, core.CloudCommand, programs(t, dir)))
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

// What programs say by their exit status, and that nothing but what is said gets to them.
func TestTheContractOfCommands(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DROVER_STORE_PASSWORD", "hidden")
	t.Setenv("CLOUD_ACCOUNT", "ours")
	says := programs(t, dir)
	says.Env, says.Timeout = []string{"CLOUD_ACCOUNT"}, "1m"
	p := open(t, "one", group(t, "burst", core.CloudCommand, says))
	says.Timeout = "1s"
	hasty := open(t, "one", group(t, "burst", core.CloudCommand, says))
	o := cloud.Order{Token: "burst-000001", Group: "burst", Type: "big", Labels: "zone=a", Secret: "s3cret", Spot: true}
	for kind, want := range map[string]core.Code{"full": core.CodeLimit, "wrong": core.CodeInvalid, "broken": core.CodeUnavailable, "slow": core.CodeUnavailable} {
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
		return string(text)
	}
	env := read("env")
	require.Contains(t, env, "CLOUD_ACCOUNT=ours")
	for _, secret := range []string{"hidden", "s3cret"} {
		require.NotContains(t, env, secret)
	}
	require.JSONEq(t, `{"op":"create","cluster":"one","instance":"burst-000001","group":"burst","type":"big","spot":true,"labels":"zone=a",
		"secret":"s3cret","user_data":"join burst-000001 burst one big zone=a s3cret"}`, read("said"))
}

func TestWhatCommandsPrintIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   core.Code
	}{
		"too much":            {"yes | head -c 9000000", core.CodeLimit},
		"no JSON":             {"echo hello", core.CodeUnavailable},
		"another's":           {`echo '{"machine":"a","instance":"b","cluster":"two"}'`, ""},
		"an error that never": {"yes >&2 | head -c 100000 >&2; exit 3", core.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line := []string{"/bin/sh", "-c", "exec 2>&1; " + c.script}
			if strings.Contains(c.script, "exit 3") {
				line = []string{"/bin/sh", "-c", "yes | head -c 100000 >&2; exit 3"}
			}
			p := open(t, "one", group(t, "burst", core.CloudCommand, cloud.Command{Create: line, Terminate: line, List: line}))
			all, err := p.List(t.Context())
			require.Equal(t, c.code, core.CodeOf(err), "%v", err)
			require.Empty(t, all)
			if err != nil {
				require.Less(t, len(err.Error()), 10_000)
			}
		})
	}
}

func TestProfilesThatCannotBe(t *testing.T) {
	t.Parallel()
	sh := []string{"/bin/sh"}
	for name, g := range map[string]core.HostGroup{
		"an unknown field":      {Name: "burst", Provider: core.CloudCommand, Profile: []byte(`{"create":["/bin/sh"],"terminate":["/bin/sh"],"list":["/bin/sh"],"delete":["/bin/sh"]}`)},
		"no profile":            {Name: "burst", Provider: core.CloudCommand},
		"a relative program":    group(t, "burst", core.CloudCommand, cloud.Command{Create: []string{"sh"}, Terminate: sh, List: sh}),
		"a long timeout":        group(t, "burst", core.CloudCommand, cloud.Command{Create: sh, Terminate: sh, List: sh, Timeout: "1h"}),
		"a value of a variable": group(t, "burst", core.CloudCommand, cloud.Command{Create: sh, Terminate: sh, List: sh, Env: []string{"A=B"}}),
		"a secret argument":     group(t, "burst", core.CloudProcess, cloud.Process{Command: []string{"/bin/sh", "{{secret}}"}, Dir: "/tmp"}),
		"no place":              group(t, "burst", core.CloudEC2, cloud.EC2{}),
		"no type":               group(t, "burst", core.CloudEC2, cloud.EC2{Places: []cloud.EC2Place{{Region: "eu-central-1", Image: "ami-1"}}}),
		"an unknown provider":   {Name: "burst", Provider: "paper"},
	} {
		require.Equal(t, core.CodeInvalid, core.CodeOf(cloud.Check(g)), name)
		_, err := cloud.Open(t.Context(), "one", g)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err), name)
	}
}
