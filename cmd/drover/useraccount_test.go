package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/config"
	"drover/core/school"
)

// types runs a command of this program on the cluster, with what is typed.
func (h *testCluster) types(stdin string, args ...string) (stdout, stderr string, code int) {
	h.t.Helper()
	var out, errs bytes.Buffer
	all := append([]string{"drover", "--data", h.cfg.Data, "--redis", h.cfg.Redis.Reveal()}, args...)
	code = typeIn(context.WithoutCancel(h.t.Context()), all, strings.NewReader(stdin), &out, &errs)
	return out.String(), errs.String(), code
}

func TestUsersSignInByWhatTheCommandLineGives(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	ctx := t.Context()
	done := func(stdin string, args ...string) string {
		t.Helper()
		out, errs, code := h.types(stdin, args...)
		require.Zero(t, code, "%v: %s", args, errs)
		return out
	}
	refused := func(code int, want, stdin string, args ...string) {
		t.Helper()
		out, errs, got := h.types(stdin, args...)
		require.Equal(t, code, got, "%v: %s%s", args, out, errs)
		require.Contains(t, errs, want)
	}
	for _, handle := range []string{"ann", "bob"} {
		_, err := h.cluster.Classes().CreateUser(ctx, access.Operator(), school.User{Handle: handle, Email: handle + "@example.org"})
		require.NoError(t, err)
	}
	backend, err := h.cluster.Accounts()
	require.NoError(t, err)

	const password = "three blind mice"
	refused(terminal.ExitUsage, "there is no terminal", password, "user", "password", "ann")
	refused(terminal.ExitUsage, "too short", "short\n", "user", "password", "--stdin", "ann")
	refused(terminal.ExitNotFound, "eve", password, "user", "password", "--stdin", "eve")
	refused(terminal.ExitRefused, "may not", password, "user", "password", "--stdin", "--as", "bob", "ann")
	out := done(password+"\r\n", "user", "password", "--stdin", "ann@example.org")
	require.Contains(t, out, "user ann has that password")
	require.NotContains(t, out, password)
	in, err := backend.SignIn(ctx, "ann", password, "192.0.2.1")
	require.NoError(t, err)
	require.True(t, in.Account.MustChange)

	link := strings.TrimSpace(done("", "user", "link", "ann"))
	require.Regexp(t, `^http://127\.0\.0\.1:8080/sign-in/link\?token=drl_[0-9A-Za-z]{49}$`, link)
	require.NoError(t, backend.LookAtLink(ctx, strings.SplitAfter(link, "token=")[1]))
	refused(terminal.ExitRefused, "may not", "", "user", "link", "--as", "bob", "ann")

	require.Contains(t, done("", "user", "tokens", "bob"), "no tokens")
	require.Equal(t, "[]\n", done("", "user", "tokens", "--json", "bob"))
	secret, token, err := backend.IssueToken(ctx, core.Actor{Handle: "bob"}, "laptop", []school.Scope{school.ScopeRead}, 0)
	require.NoError(t, err)
	for _, as := range [][]string{nil, {"--as", "bob"}} {
		out = done("", append([]string{"user", "tokens", "bob"}, as...)...)
		require.Regexp(t, regexp.QuoteMeta(token.ID)+`.*laptop.*read`, out)
		require.NotContains(t, out, secret)
	}
	refused(terminal.ExitRefused, "may not", "", "user", "tokens", "--as", "ann", "bob")
	refused(terminal.ExitRefused, "may not", "", "user", "tokens", "--as", "ann", "--revoke", token.ID, "bob")
	refused(terminal.ExitNotFound, "no token", "", "user", "tokens", "--revoke", "none", "bob")
	done("", "user", "tokens", "--revoke", token.ID, "bob")
	_, _, err = backend.ByToken(ctx, secret)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
}

func TestProviderOfSettings(t *testing.T) {
	t.Parallel()
	p, err := wiring.OIDCProvider(&config.Config{})
	require.NoError(t, err)
	require.Nil(t, p)
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("shared\n"), 0o600))
	cfg := &config.Config{OIDCIssuer: "https://id.example", OIDCName: "School", OIDCClient: "drover", OIDCSecretFile: file}
	p, err = wiring.OIDCProvider(cfg)
	require.NoError(t, err)
	require.Equal(t, "shared", p.Secret)
	require.Equal(t, "https://id.example", p.Issuer)
	cfg.OIDCSecretFile += "x"
	_, err = wiring.OIDCProvider(cfg)
	require.ErrorContains(t, err, "cannot be read")
}
