package transfer

import (
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/webhook"
	"drover/web/forgetest"
)

// forge is a server of one repository, hw1, by https.
type forge struct {
	*forgetest.Forge
	t *testing.T
}

func newForge(t *testing.T) *forge {
	t.Helper()
	return &forge{forgetest.New(t), t}
}

// site fetches from the forge, and from its address if that is allowed.
func (f *forge) site(allowed ...string) *Repositories {
	f.t.Helper()
	r := &Repositories{Hosts: []string{f.Host}, Port: f.Port, Cert: f.Cert, temp: f.t.TempDir()}
	for _, network := range allowed {
		r.Addresses.Allowed = append(r.Addresses.Allowed, netip.MustParsePrefix(network))
	}
	return r
}

const loopback = forgetest.Network

func (f *forge) fetch(r *Repositories, path, ref string) (map[string]string, school.Source, error) {
	files, from := map[string]string{}, school.Source{}
	for u, err := range r.files(f.t.Context(), f.URL+path, ref, &from) {
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
	first := f.Commit(map[string]string{"main.py": "print()\n", "lib/a.py": "x"})
	f.Git("tag", "v1")
	second := f.Commit(map[string]string{"main.py": "print(2)\n"})
	r := f.site(loopback)
	for name, want := range map[string]string{"": second, "main": second, "v1": first, first: first} {
		files, from, err := f.fetch(r, "/hw1", name)
		require.NoError(t, err, name)
		text := map[string]string{first: "print()\n", second: "print(2)\n"}[want]
		assert.Equal(t, map[string]string{"main.py": text, "lib/a.py": "x"}, files, name)
		assert.Equal(t, school.Source{Address: f.URL + "/hw1", Ref: name, Commit: want}, from)
	}
	left, err := filepath.Glob(filepath.Join(r.temp, "*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// Each refusal of an address, and of what is there.
func TestRepositoriesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.Commit(map[string]string{"main.py": "print()\n"})
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(f.Dir, "link")))
	f.Git("checkout", "--quiet", "-b", "linked")
	f.Commit(nil)
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
		"": "has no address", "http://127.0.0.1/x": "must begin with https://", "file:///etc": "must begin with https://", "ext::sh -c x": "must begin with https://", "git@127.0.0.1:x": "must begin with https://", "https://127.0.0.1:x/": "not readable",
		"https://ann:pw@127.0.0.1/x": "must not hold a name or a password", "https://github.com/a/b": "are fetched from 127.0.0.1", "https://127.0.0.1/x": "are fetched from 127.0.0.1",
	} {
		err := r.check(address, "")
		require.Error(t, err, address)
		assert.Contains(t, err.Error(), says, address)
		assert.NotContains(t, err.Error(), "pw")
	}
	require.Error(t, (&Repositories{}).check("https://github.com/a/b", ""))
	for _, sent := range f.Asked() {
		assert.Empty(t, sent, "no credentials are sent")
	}
}

// A host's name that leads into a private network is refused when it is connected to.
func TestPrivateNetworksAreNotFetchedFrom(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	f.Commit(map[string]string{"main.py": "print()\n"})
	_, _, err := f.fetch(f.site(), "/hw1", "")
	require.Error(t, err)
	assert.Contains(t, err.Error(), "a network from which nothing is fetched")
	assert.Empty(t, f.Asked(), "it was not even connected to")
}

// A commit of too many bytes is refused.
func TestLargeRepositoriesAreRefused(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	r := f.site(loopback)
	r.bytes = 1 << 20
	f.Commit(map[string]string{"main.py": rand.Text()})
	_, _, err := f.fetch(r, "/hw1", "")
	require.NoError(t, err)
	noise := make([]byte, 2<<20)
	_, _ = rand.Read(noise)
	f.Commit(map[string]string{"data": string(noise)})
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
