package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"drover/core"
	"drover/web/client"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSite(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"https://drover.example.org":         "https://drover.example.org",
		" https://Drover.Example.org:443/ ":  "https://drover.example.org",
		"https://drover.example.org:8443/cs": "https://drover.example.org:8443/cs",
		"http://localhost:8080":              "http://localhost:8080",
		"http://127.0.0.1":                   "http://127.0.0.1",
		"http://[::1]:8080/":                 "http://[::1]:8080",
	} {
		u, err := client.Site(server, false)
		require.NoError(t, err, server)
		assert.Equal(t, want, u.String())
	}
	for _, server := range []string{
		"", "drover.example.org", "drover.example.org:443", "ftp://x", "file:///etc/passwd", "https://", "https://:443", "https://x/?a=b", "https://x#y",
		"https://ann:pw@x", "http://drover.example.org", "http://127.0.0.1.example.org", "http://localhost.example.org", "https:x", "http://10.1.2.3", "https://x y",
	} {
		_, err := client.Site(server, false)
		requireCode(t, core.CodeInvalid, err)
		assert.NotContains(t, err.Error(), "pw", "a password is not repeated")
	}
	u, err := client.Site("http://10.1.2.3:8080", true)
	require.NoError(t, err)
	assert.Equal(t, "http://10.1.2.3:8080", u.String())
}

// A redirect within the site is followed; none takes the token to another one.
func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other site was asked") }))
	t.Cleanup(other.Close)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/classes/old":
			http.Redirect(w, r, "/api/v1/classes/new", http.StatusPermanentRedirect)
		case "/api/v1/classes/new":
			assert.Equal(t, "Bearer dro_secret", r.Header.Get("Authorization"))
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"handle":"new"}`))
		case "/api/v1/classes/round":
			http.Redirect(w, r, "/api/v1/classes/round", http.StatusFound)
		default:
			http.Redirect(w, r, other.URL, http.StatusFound)
		}
	}))
	t.Cleanup(here.Close)
	c, err := client.New(client.Options{Server: here.URL, Token: "dro_secret", Timeout: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	class, err := c.ViewClass(t.Context(), "old")
	require.NoError(t, err)
	assert.Equal(t, "new", class.Handle)
	_, err = c.ViewClass(t.Context(), "elsewhere")
	requireCode(t, core.CodeInvalid, err)
	assert.Contains(t, err.Error(), other.URL)
	_, err = c.ViewClass(t.Context(), "round")
	requireCode(t, core.CodeUnavailable, err)
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		answer func(*http.Request) (*http.Response, error)
		code   core.Code
		text   string
	}{
		{problem(404, `{"status":404,"code":"NOTFOUND","detail":"there is no class \"x\"","id":"x"}`), core.CodeNotFound, `there is no class "x"`},
		{problem(409, `{"code":"ENDED","detail":"too late"}`), core.CodeEnded, "too late"},
		{problem(413, `{"code":"LIMIT","detail":"too large"}`), core.CodeLimit, "too large"},
		{problem(401, `{"code":"FORBIDDEN","detail":"nobody is signed in"}`), core.CodeForbidden, "nobody is signed in"},
		{problem(403, `{"code":"FORBIDDEN","detail":"not yours"}`), core.CodeForbidden, "not yours"},
		{problem(422, `{"detail":"no code"}`), core.CodeInvalid, "no code"},
		{
			problem(404, `{"code":"NOTFOUND","detail":"the API has nothing at /api/v1/x","id":"/api/v1/x"}`), core.CodeVersion,
			"the site https://drover.example.org and this program have different versions: it says that the API has nothing at /api/v1/x",
		},
		{problem(500, `{"code":"INTERNAL","detail":"a fault"}`), core.CodeInternal, "a fault"},
		{says(404, "text/html", "<h1>nothing"), core.CodeVersion, "https://drover.example.org does not answer as a site of drover with version 1 of the API does, but with 404 Not Found: is the address right?"},
		{says(200, "text/html", "<h1>hello"), core.CodeVersion, "https://drover.example.org does not answer as a site of drover with version 1 of the API does, but with 200 OK: is the address right?"},
		{says(502, "text/html", "<h1>bad"), core.CodeUnavailable, "the site https://drover.example.org is away: what stands before it answers 502 Bad Gateway"},
		{good(`{"handle":7}`), core.CodeVersion, ""},
		{good(`{"handle`), core.CodeUnavailable, ""},
		{problem(422, `{"code":"INVALID","detail":"`+strings.Repeat("x", 1<<20)+`"}`), core.CodeVersion, ""},
	} {
		_, err := asks(t, &site{answers: []func(*http.Request) (*http.Response, error){one.answer}}, func(o *client.Options) { o.Timeout = -1 }).ViewClass(t.Context(), "x")
		requireCode(t, one.code, err)
		if one.text != "" {
			assert.Equal(t, one.text, err.Error())
		}
		assert.Equal(t, one.text == "nobody is signed in", client.SignedOut(err))
		assert.NotContains(t, err.Error(), "dro_")
	}
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	s := &site{answers: []func(*http.Request) (*http.Response, error){good(`{}`)}}
	c := asks(t, s, func(o *client.Options) { o.Agent = "drover/1.2" })
	_, err := c.ViewClass(t.Context(), "a/../b c?")
	require.NoError(t, err)
	assert.Equal(t, "https://drover.example.org/api/v1/classes/a%2F..%2Fb%20c%3F", s.asked[0].URL.String())
	assert.Equal(t, "Bearer dro_secret", s.asked[0].Header.Get("Authorization"))
	assert.Equal(t, "drover/1.2", s.asked[0].Header.Get("User-Agent"))
}

func TestListsGoOnUntilTheyHaveEnough(t *testing.T) {
	t.Parallel()
	s := &site{answers: []func(*http.Request) (*http.Response, error){
		good(`{"items":[{"handle":"b"},{"handle":"c"}],"next":"c"}`), good(`{"items":[{"handle":"d"}],"next":""}`),
	}}
	all, err := asks(t, s).ListClasses(t.Context(), "a", 1000)
	require.NoError(t, err)
	assert.Len(t, all, 3)
	assert.Equal(t, "cursor=a&limit=500", s.asked[0].URL.RawQuery)
	assert.Equal(t, "cursor=c&limit=500", s.asked[1].URL.RawQuery)
}
