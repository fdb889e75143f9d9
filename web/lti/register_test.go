package lti_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes/lti/ltitest"
	"drover/core/school"
	"drover/core/webhook"
)

// admin is root's browser.
func (w *fixture) admin() *browser {
	w.t.Helper()
	b := w.browser()
	w.password("root")
	leads(w.t, b.post("/sign-in", url.Values{"user": {"root"}, "password": {"three blind mice"}}))
	return b
}

// registration is the path of a new link.
func (b *browser) registration() string {
	b.t.Helper()
	rec := b.post("/lti/registrations", nil)
	require.Equal(b.t, http.StatusOK, rec.Code, said(rec))
	link := regexp.MustCompile(`<code>` + site + `(/lti/register/dro_lti_\w+)</code>`).FindStringSubmatch(rec.Body.String())
	require.NotNil(b.t, link, said(rec))
	return link[1]
}

// asks is what a platform adds to a link.
func (w *fixture) asks() url.Values {
	return url.Values{"openid_configuration": {w.platform.Configuration()}, "registration_token": {ltitest.RegisterToken}}
}

// A platform registers itself by a link of an admin's, once, and is asked nothing more.
func TestDynamicRegistration(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	path := w.admin().registration()
	kept, err := w.store.ListLTI(t.Context(), school.LTIRegistrations, "", "", 10)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.NotContains(t, string(kept[0].Doc)+kept[0].ID, strings.TrimPrefix(path, "/lti/register/"), "only the hash is kept")

	platforms := w.browser() // nobody is signed in there
	rec := platforms.ask(http.MethodGet, path+"?"+w.asks().Encode(), nil, "cross-site", "Sec-Fetch-Dest", "iframe")
	require.Equal(t, http.StatusOK, rec.Code, said(rec))
	require.Contains(t, plain(rec), strings.TrimPrefix(w.platform.URL, "http://"))
	require.Empty(t, w.platform.Registered(), "a GET changes nothing")
	require.Equal(t, http.StatusForbidden, platforms.ask(http.MethodPost, path, w.asks(), "cross-site").Code)
	rec = platforms.post(path, w.asks())
	require.Equal(t, http.StatusOK, rec.Code, said(rec))
	require.Contains(t, rec.Body.String(), "data-close")
	require.Contains(t, rec.Body.String(), "/static/platform.")
	require.Contains(t, rec.Header().Get("Content-Security-Policy"), "script-src 'self'")
	all, err := w.lti.Platforms(t.Context(), root)
	require.NoError(t, err)
	require.Len(t, all, 2)
	p := all[1]
	require.Equal(t, "moodle-127-0-0-1", p.ID)
	require.Equal(t, w.platform.URL, p.Issuer)
	require.Equal(t, "client-of-the-platform", p.Client)
	require.Equal(t, []string{"7"}, p.Deployments)
	require.Equal(t, w.platform.URL+"/token", p.TokenURL)
	require.False(t, p.NewClasses)
	tool := w.platform.Registered()[0]
	require.Equal(t, []any{target}, tool["redirect_uris"])
	require.Equal(t, site+"/lti/login", tool["initiate_login_uri"])
	require.Equal(t, site+"/lti/jwks", tool["jwks_uri"])
	require.Contains(t, tool["scope"], "contextmembership.readonly")
	own, _ := tool["https://purl.imsglobal.org/spec/lti-tool-configuration"].(map[string]any)
	require.Equal(t, "drover.example", own["domain"])
	messages, _ := own["messages"].([]any)
	require.Len(t, messages, 2)
	require.Equal(t, http.StatusForbidden, platforms.post(path, w.asks()).Code, "once")
	require.Equal(t, http.StatusForbidden, platforms.get(path+"?"+w.asks().Encode()).Code)
}

func TestRegistrationRefusals(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.admin()
	path := b.registration()
	const platform = "https://purl.imsglobal.org/spec/lti-platform-configuration"
	set := func(name string, value any) func(map[string]any) { return func(c map[string]any) { c[name] = value } }
	for name, change := range map[string]func(map[string]any){
		"an issuer elsewhere":      set("issuer", "https://evil.example"),
		"an issuer by name":        set("issuer", "moodle"),
		"no issuer":                set("issuer", nil),
		"another algorithm":        set("id_token_signing_alg_values_supported", []string{"HS256", "none"}),
		"no launches":              set(platform, map[string]any{"messages_supported": []map[string]any{{"type": "LtiDeepLinkingRequest"}}}),
		"not of a platform":        set(platform, nil),
		"private registration":     set("registration_endpoint", "https://10.0.0.1/register"),
		"no registration":          set("registration_endpoint", nil),
		"private keys":             set("jwks_uri", "http://169.254.169.254/keys"),
		"no tokens":                set("token_endpoint", nil),
		"a script for sign-in":     set("authorization_endpoint", "javascript:alert(1)"),
		"too long":                 set("x", strings.Repeat("x", 2<<20)),
		"issuer of another scheme": func(c map[string]any) { c["issuer"] = "https://" + strings.TrimPrefix(w.platform.URL, "http://") },
	} {
		w.platform.Says(change)
		rec := b.post(path, w.asks())
		require.Contains(t, []int{http.StatusForbidden, http.StatusUnprocessableEntity}, rec.Code, name)
		require.Empty(t, w.platform.Registered(), name)
	}
	w.platform.Says(nil)
	for name, change := range map[string]url.Values{
		"no address": {"openid_configuration": {""}}, "a file": {"openid_configuration": {"file:///etc/passwd"}}, "a private address": {"openid_configuration": {"https://192.168.0.1/x"}},
		"a broken token": {"registration_token": {"a\r\nX: y"}},
	} {
		form := w.asks()
		for field, value := range change {
			form[field] = value
		}
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, b.get(path+"?"+form.Encode()).Code, name)
	}
	require.Equal(t, http.StatusForbidden, b.get("/lti/register/dro_lti_x?"+w.asks().Encode()).Code)
	require.Equal(t, http.StatusForbidden, w.stranger().post("/lti/registrations", nil).Code)
	form := w.asks()
	form.Set("registration_token", "another")
	rec := b.post(path, form)
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code)
	require.Contains(t, plain(rec), "status 401")
	_, err := w.lti.Platform(t.Context(), root, "moodle-127-0-0-1")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))

	path = b.registration()
	now := time.Now().Add(time.Hour)
	w.lti.Now = func() time.Time { return now }
	require.Equal(t, http.StatusForbidden, b.post(path, w.asks()).Code, "expired")
	w.lti.Now = nil
	w.lti.Addresses = webhook.Addresses{}
	require.NotEqual(t, http.StatusOK, b.post(path, w.asks()).Code, "not encrypted, and not allowed")
	w.lti.Addresses = ltitest.Addresses()
	var last *httptest.ResponseRecorder
	for range 25 {
		last = b.post("/lti/registrations", nil)
	}
	require.Equal(t, http.StatusUnprocessableEntity, last.Code, "so many are open")
}
