package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
)

// joinFixture is a cluster with a site that hands out settings, and a machine that has only the program.
type joinFixture struct {
	*testCluster

	site    string
	machine *testCluster // whose environment names no cluster
	home    string       // of the machine
}

func newJoinFixture(t *testing.T) *joinFixture {
	t.Helper()
	return newTestCluster(t).joined()
}

// joined makes a fixture of a cluster.
func (h *testCluster) joined() *joinFixture {
	t := h.t
	t.Helper()
	ctx := context.Background()
	require.NoError(t, h.cluster.Redis.Client().Do(ctx, "ACL", "SETUSER", "host", "on", ">s3cret", "~drover:*", "resetchannels", "+@all", "-@dangerous", "-@admin", "+info").Err())
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	h.cluster.Config.HostConfig = write("hosts.yaml", strings.Join([]string{
		"redis: " + strings.Replace(h.cfg.Redis.Reveal(), "unix://", "unix://host@", 1), "redis_password_file: " + write("password", "s3cret\n"),
		"store: " + h.cfg.Store.Reveal(), "blobs: " + h.cfg.Blobs.Reveal(), "beat: 200ms", "poll: 200ms", "slots: 2", "pools: [default]",
	}, "\n"))
	j := &joinFixture{testCluster: h, home: t.TempDir()}
	s := newTestSite(t, h.cluster)
	j.site = s.url
	m := *h
	m.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + j.home, "DROVER_DATA=" + filepath.Join(h.cfg.Data, "m"), "DROVER_CONFIG=" + j.file("drover.yaml"), "DROVER_LOG_LEVEL=info",
	}
	j.machine = &m
	return j
}

func (j *joinFixture) file(name string) string { return filepath.Join(j.home, "etc", name) }

// token makes a token, and a file with it.
func (j *joinFixture) token(args ...string) (id, file string) {
	j.t.Helper()
	var made struct {
		Secret string
		Token  core.JoinToken
	}
	require.NoError(j.t, json.Unmarshal([]byte(j.said(append([]string{"host", "token", "create", "--json"}, args...)...)), &made))
	file = filepath.Join(j.t.TempDir(), "token")
	require.NoError(j.t, os.WriteFile(file, []byte(made.Secret+"\n"), 0o600))
	return made.Token.ID, file
}

// joins runs drover join on the machine.
func (j *joinFixture) joins(args ...string) (stdout, stderr string, code int) {
	j.t.Helper()
	args = append([]string{"join"}, args...)
	if !j.here {
		return j.machine.run(args...)
	}
	var out, errs bytes.Buffer
	all := append([]string{"drover", "--config", j.file("drover.yaml"), "--data", filepath.Join(j.cfg.Data, "m")}, args...)
	code = typeIn(context.WithoutCancel(j.t.Context()), all, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), code
}

func (j *joinFixture) refused(code int, want string, args ...string) {
	j.t.Helper()
	out, errs, got := j.joins(args...)
	require.Equal(j.t, code, got, "%v: %s%s", args, out, errs)
	require.Contains(j.t, errs, want)
}

// A machine with nothing but the program and a token runs requests, is killed and started again without another, and
// keeps what it was told for itself.
func TestAMachineJoinsAndWorks(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	j := newJoinFixture(t)
	j.pool()
	watch := j.start("overseer")
	_, token := j.token("--name", "spare")
	m := j.machine.start("join", "--token-file", token, j.site)
	ids := j.submit(5, "echo", "hello")
	j.awaitLeft(0)
	j.requireOnce(ids)
	require.Contains(t, m.said(), "this machine is host spare of the cluster of "+j.site)
	for _, id := range ids {
		row, err := j.cluster.Store.Get(context.Background(), id)
		require.NoError(t, err)
		require.Equal(t, "spare", row.Result.Host)
	}
	for name, want := range map[string]string{"redis-password": "s3cret\n", "drover.yaml": "host: spare\n"} {
		info, err := os.Stat(j.file(name))
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o600), info.Mode().Perm(), name)
		text, err := os.ReadFile(j.file(name))
		require.NoError(t, err)
		require.Contains(t, string(text), want)
		require.Equal(t, name == "redis-password", strings.Contains(string(text), "s3cret"))
	}
	require.NoFileExists(t, j.file("join-key"))
	require.NotContains(t, m.said(), "s3cret")

	m.kill()
	again := j.machine.start("join", "--token-file", token, j.site)
	j.submit(5, "echo", "again")
	j.awaitLeft(0)
	require.Contains(t, again.said(), "joined "+j.site+" as host spare before")
	again.stop()
	watch.stop()
	j.machine.said("vmfactory", "--destroy-vms")
	require.Contains(t, j.said("host", "token", "list"), "spare")
	require.Contains(t, j.said("audit"), "joins by token")
}

func TestJoinIsRefused(t *testing.T) {
	t.Parallel()
	j := newStillCluster(t).joined()
	id, token := j.token()
	j.refused(terminal.ExitUsage, "takes one argument", "--token-file", token)
	j.refused(terminal.ExitUsage, "use https", "--token-file", token, "http://drover.example.org")
	j.refused(terminal.ExitUsage, "name the token by one of", j.site)
	j.refused(terminal.ExitUsage, "name the token by one of", "--token", "x", "--token-file", token, j.site)
	j.refused(terminal.ExitUsage, "is no join token", "--token", "dro_x", j.site)
	j.refused(terminal.ExitNoCluster, "", "--token-file", token, "--wait", "0", "http://127.0.0.1:1")
	out, errs, code := j.joins("--dry-run", "--token-file", token, j.site)
	require.Zero(t, code, errs)
	require.Contains(t, out, "would ask "+j.site)
	require.Contains(t, out, j.file("drover.yaml"), "which a flag before the command names")
	require.NoFileExists(t, j.file("drover.yaml"))
	j.said("host", "token", "revoke", id)
	j.refused(terminal.ExitRefused, "was revoked", "--token-file", token, j.site)

	_, one := j.token()
	out, errs, code = j.joins("--once", "--host", "h7", "--token-file", one, j.site)
	require.Zero(t, code, errs)
	require.Contains(t, out, "Redis, the result store and the files answer")
	out, errs, code = j.joins("--once", "--token-file", one, j.site)
	require.Zero(t, code, errs)
	require.Contains(t, out, "as host h7 before")
	j.refused(terminal.ExitRefused, "was used by all 1 hosts", "--replace", "--once", "--token-file", one, j.site)
	j.refused(terminal.ExitRefused, "already, by", "--once", "--token-file", one, "https://other.example.org")
	require.NoError(t, os.WriteFile(j.file("drover.yaml"), []byte("host: mine\n"), 0o600))
	j.refused(terminal.ExitRefused, "drover join did not write", "--once", "--token-file", one, j.site)
}

// A machine that dies before it has written what it was told asks again, at no further use of its token.
func TestJoinAfterACrash(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	j := newJoinFixture(t)
	_, token := j.token()
	require.NoError(t, os.MkdirAll(j.file(""), 0o700))
	require.NoError(t, os.Mkdir(j.file("redis-password"), 0o700)) // in the way of what is written after the answer
	j.refused(terminal.ExitNoCluster, "redis-password cannot be written", "--once", "--token-file", token, j.site)
	require.FileExists(t, j.file("join-key"))
	require.NoFileExists(t, j.file("drover.yaml"))
	require.NoError(t, os.Remove(j.file("redis-password")))
	conf := filepath.Join(t.TempDir(), "drover.conf")
	out, errs, code := j.joins("--supervisord", conf, "--token-file", token, j.site)
	require.Zero(t, code, errs)
	require.Contains(t, out, "supervisorctl update")
	text, err := os.ReadFile(conf)
	require.NoError(t, err)
	require.Contains(t, string(text), `host run --config "`+j.file("drover.yaml")+`"`)

	p := j.machine.start("host", "run", "--config", j.file("drover.yaml"))
	await(t, "it registered", func() bool {
		hosts, err := j.cluster.Redis.ListHosts(context.Background())
		return err == nil && len(hosts) == 1 && len(hosts[0].Owners) == 2
	})
	p.signal(syscall.SIGTERM)
	p.await()
	require.Zero(t, p.cmd.ProcessState.ExitCode(), p.said())
	owners, err := j.cluster.Redis.ListOwners(context.Background())
	require.NoError(t, err)
	require.Empty(t, owners)
	j.machine.said("vmfactory", "--destroy-vms", "--config", j.file("drover.yaml"))
}
