// Package forgetest serves a Git repository by https, for tests of what is fetched from one.
package forgetest

import (
	"encoding/pem"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Network is the network that the forge is in, as a setting for addresses that are allowed.
const Network = "127.0.0.0/8"

// Forge is a server of one public repository, /hw1. All below /secret asks for a password, and all below /away leads to
// another host.
type Forge struct {
	Dir  string // with the files
	URL  string
	Host string
	Port string
	Cert string // file with its certificate

	t    testing.TB
	mu   sync.Mutex
	asks []string
}

// New starts a forge. A test is skipped where there is no git.
func New(t testing.TB) *Forge {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skipf("there is no git: %v", err)
	}
	f := &Forge{t: t, Dir: t.TempDir()}
	f.Git("init", "--quiet", "--initial-branch=main", f.Dir)
	backend := &cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{
		"GIT_PROJECT_ROOT=" + f.Dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + f.Dir,
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_0=true", "GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
	}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.note(r.Header.Get("Authorization"))
		switch {
		case strings.HasPrefix(r.URL.Path, "/away"):
			http.Redirect(w, r, "https://internal.example"+r.URL.Path, http.StatusFound)
		case strings.HasPrefix(r.URL.Path, "/secret"):
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
		default:
			r.URL.Path = strings.Replace(r.URL.Path, "/hw1", "/.git", 1)
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	f.URL, f.Host, f.Port, f.Cert = server.URL, u.Hostname(), u.Port(), filepath.Join(t.TempDir(), "cert.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(f.Cert, text, 0o600))
	return f
}

func (f *Forge) note(authorization string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asks = append(f.asks, authorization)
}

// Asked returns the credentials that came with each request, "" for none.
func (f *Forge) Asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.asks...)
}

// Git runs git in the repository.
func (f *Forge) Git(args ...string) string {
	f.t.Helper()
	c := exec.CommandContext(f.t.Context(), "git", append([]string{"-C", f.Dir, "-c", "user.name=ann", "-c", "user.email=ann@example.org"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := c.CombinedOutput()
	require.NoError(f.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// Commit commits files and returns the hash.
func (f *Forge) Commit(files map[string]string) string {
	f.t.Helper()
	for name, text := range files {
		at := filepath.Join(f.Dir, name)
		require.NoError(f.t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(f.t, os.WriteFile(at, []byte(text), 0o600))
	}
	f.Git("add", "--all")
	f.Git("commit", "--quiet", "--message=x")
	return f.Git("rev-parse", "HEAD")
}
