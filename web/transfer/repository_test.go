package transfer

import (
	"crypto/rand"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/webhook"
)

// forge is a server of one repository, hw1, by https.
type forge struct {
	t    *testing.T
	work string
	url  string
	cert string
	asks []string
}

func newForge(t *testing.T) *forge {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skipf("there is no git: %v", err)
	}
	f := &forge{t: t, work: t.TempDir()}
	f.git("init", "--quiet", "--initial-branch=main", f.work)
	backend := &cgi.Handler{Path: program, Args: []string{"http-backend"}, Env: []string{
		"GIT_PROJECT_ROOT=" + f.work, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "HOME=" + f.work,
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=uploadpack.allowAnySHA1InWant", "GIT_CONFIG_VALUE_0=true", "GIT_CONFIG_KEY_1=safe.directory", "GIT_CONFIG_VALUE_1=*",
	}}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.asks = append(f.asks, r.Header.Get("Authorization"))
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
	f.url, f.cert = server.URL, filepath.Join(t.TempDir(), "cert.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(f.cert, text, 0o600))
	return f
}

func (f *forge) git(args ...string) string {
	f.t.Helper()
	c := exec.CommandContext(f.t.Context(), "git", append([]string{"-C", f.work, "-c", "user.name=ann", "-c", "user.email=ann@example.org"}, args...)...)
	c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := c.CombinedOutput()
	require.NoError(f.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// commit commits files and returns the hash.
func (f *forge) commit(files map[string]string) string {
	f.t.Helper()
	for name, text := range files {
		at := filepath.Join(f.work, name)
		require.NoError(f.t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(f.t, os.WriteFile(at, []byte(text), 0o600))
	}
	f.git("add", "--all")
	f.git("commit", "--quiet", "--message=x")
	return f.git("rev-parse", "HEAD")
}

// site fetches from the forge, and from its address if that is allowed.
func (f *forge) site(allowed ...string) *Repositories {
	f.t.Helper()
	u, err := url.Parse(f.url)
	require.NoError(f.t, err)
	r := &Repositories{Hosts: []string{u.Hostname()}, port: u.Port(), cert: f.cert, temp: f.t.TempDir()}
	for _, network := range allowed {
		r.Addresses.Allowed = append(r.Addresses.Allowed, netip.MustParsePrefix(network))
	}
	return r
}

const loopback = "127.0.0.0/8"

func (f *forge) fetch(r *Repositories, path, ref string) (map[string]string, school.Source, error) {
	files, from := map[string]string{}, school.Source{}
	for u, err := range r.Files(f.t.Context(), f.url+path, ref, &from) {
		if err != nil {
			return files, from, err
		}
		text := new(strings.Builder)
		if _, err := io.Copy(text, u.Content); err != nil {
			return files, from, err
		}
		files[u.Path] = text.String()
	}
	return files, from, nil
}

// A commit is fetched by branch, tag or hash, and nothing of a repository but its files.
func TestARepositoryIsFetched(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	first := f.commit(map[string]string{"main.py": "print()\n", "lib/a.py": "x"})
	f.git("tag", "v1")
	second := f.commit(map[string]string{"main.py": "print(2)\n"})
	r := f.site(loopback)
	for name, want := range map[string]string{"": second, "main": second, "v1": first, first: first} {
		files, from, err := f.fetch(r, "/hw1", name)
		require.NoError(t, err, name)
		text := map[string]string{first: "print()\n", second: "print(2)\n"}[want]
		assert.Equal(t, map[string]string{"main.py": text, "lib/a.py": "x"}, files, name)
		assert.Equal(t, school.Source{Address: f.url + "/hw1", Ref: name, Commit: want}, from)
	}
	left, err := filepath.Glob(filepath.Join(r.temp, "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Each refusal of an address, and of what is there.
func TestRepositoriesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.commit(map[string]string{"main.py": "print()\n"})
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(f.work, "link")))
	f.git("checkout", "--quiet", "-b", "linked")
	f.commit(nil)
	r := f.site(loopback)
	for what, test := range map[string]struct{ path, ref, says string }{
		"a link":        {"/hw1", "linked", "link"},
		"no branch":     {"/hw1", "nowhere", "has no branch, tag or commit"},
		"an option":     {"/hw1", "--upload-pack=x", "is no name of a branch"},
		"a range":       {"/hw1", "main..linked", "is no name of a branch"},
		"a refspec":     {"/hw1", "main:refs/x", "is no name of a branch"},
		"not public":    {"/secret/hw1", "", "not public"},
		"nothing there": {"/other", "", "no such repository"},
		"led elsewhere": {"/away/hw1", "", "cannot be fetched"},
		"no repository": {"/", "", "names no repository"},
		"a query":       {"/hw1?x", "", "names no repository"},
	} {
		files, _, err := f.fetch(r, test.path, test.ref)
		require.Error(t, err, what)
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", what, err)
		assert.Contains(t, err.Error(), test.says, what)
		assert.NotContains(t, files, "link", what)
	}
	for address, says := range map[string]string{
		"": "has no address", "http://127.0.0.1/x": "must begin with https://", "file:///etc": "must begin with https://", "ext::sh -c x": "not readable",
		"https://ann:pw@127.0.0.1/x": "must not hold a name or a password", "https://github.com/a/b": "are fetched from 127.0.0.1", "https://127.0.0.1/x": "are fetched from 127.0.0.1",
	} {
		err := r.Check(address, "")
		require.Error(t, err, address)
		assert.Contains(t, err.Error(), says, address)
		assert.NotContains(t, err.Error(), "pw")
	}
	require.Error(t, (&Repositories{}).Check("https://github.com/a/b", ""))
	for _, sent := range f.asks {
		assert.Empty(t, sent, "no credentials are sent")
	}
}

// A host's name that leads into a private network is refused when it is connected to.
func TestPrivateNetworksAreNotFetchedFrom(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.commit(map[string]string{"main.py": "print()\n"})
	_, _, err := f.fetch(f.site(), "/hw1", "")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "a network from which nothing is fetched")
	assert.Empty(t, f.asks, "it was not even connected to")
}

// A commit of too many bytes is refused.
func TestLargeRepositoriesAreRefused(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.site(loopback)
	r.bytes = 1 << 20
	f.commit(map[string]string{"main.py": rand.Text()})
	_, _, err := f.fetch(r, "/hw1", "")
	require.NoError(t, err)
	noise := make([]byte, 2<<20)
	_, _ = rand.Read(noise)
	f.commit(map[string]string{"data": string(noise)})
	_, _, err = f.fetch(r, "/hw1", "")
	require.True(t, core.Is(err, core.CodeLimit), "%v", err)
	assert.Contains(t, err.Error(), "the commit has more than")
}

// Tunnels lead to one host, and for nothing but connections.
func TestTunnels(t *testing.T) {
	t.Parallel()
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(server.Close)
	allowed := webhook.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix(loopback)}}
	tun, err := openTunnel(t.Context(), strings.TrimPrefix(server.URL, "http://"), allowed.Control("https"), 1000)
	require.NoError(t, err)
	t.Cleanup(tun.close)
	at, err := url.Parse(tun.url())
	require.NoError(t, err)
	for _, other := range []string{server.URL, "https://127.0.0.1:1"} { // not by CONNECT, and to another host
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, other, nil)
		require.NoError(t, err)
		a, err := (&http.Transport{Proxy: http.ProxyURL(at), DisableKeepAlives: true}).RoundTrip(r)
		if err == nil {
			assert.Equal(t, http.StatusForbidden, a.StatusCode)
			require.NoError(t, a.Body.Close())
		}
	}
	assert.False(t, asked)
}
