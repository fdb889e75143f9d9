package lti_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes/lti/ltitest"
	"drover/core/school"
)

// choosing is a fixture whose course is connected, and which has a second assignment.
func choosing(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t)
	w.connected()
	_, err := w.store.PutAssignment(t.Context(), school.Assignment{Class: "cs101", Handle: "hw2", Title: "Second <b>", Due: time.Now().Add(time.Hour).UnixMilli()})
	require.NoError(t, err)
	w.known()
	return w
}

// known gives the platform the site's keys.
func (w *fixture) known() {
	w.platform.Knows(func() jose.JSONWebKeySet {
		set, err := w.lti.JWKS(w.t.Context())
		require.NoError(w.t, err)
		return set
	})
}

// choose launches a request to choose content.
func (b *browser) choose(subject, role string, change ...func(map[string]any)) *httptest.ResponseRecorder {
	b.t.Helper()
	q := b.login()
	claims := b.platform.DeepClaims(q, target, subject, role)
	for _, c := range change {
		c(claims)
	}
	return b.launch(b.platform.Token(b.t, claims), q.Get("state"))
}

// settings changes what is asked for.
func settings(name string, value any) func(map[string]any) {
	return func(c map[string]any) {
		s, _ := c[ltitest.Settings].(map[string]any)
		if s[name] = value; value == nil {
			delete(s, name)
		}
	}
}

// returned is the form that goes to the platform.
func returned(t *testing.T, rec *httptest.ResponseRecorder) (action, answer string) {
	t.Helper()
	require.Equal(t, http.StatusOK, rec.Code, said(rec))
	form := regexp.MustCompile(`(?s)<form method="post" action="([^"]*)" data-send>.*?name="JWT" value="([^"]*)">.*?<button>`).FindStringSubmatch(rec.Body.String())
	require.NotNil(t, form, said(rec))
	return html.UnescapeString(form[1]), html.UnescapeString(form[2])
}

// A teacher chooses assignments; the platform gets links with columns that lead to them, and the later launches find
// them.
func TestDeepLinking(t *testing.T) {
	t.Parallel()
	w := choosing(t)
	b := w.browser()
	path, token := leads(t, b.choose("tess", "Instructor"))
	require.Equal(t, "/lti/deep", path)
	shown := b.get(path + "?" + url.Values{"t": {token}}.Encode()).Body.String()
	require.Contains(t, shown, `type="checkbox" name="assignment" value="hw2"`)
	require.Equal(t, 1, strings.Count(shown, "in the course already"), "hw1 is linked")
	again := b.post(path, url.Values{"t": {token}, "points": {"20"}})
	require.Equal(t, http.StatusUnprocessableEntity, again.Code)
	require.Contains(t, again.Body.String(), "Choose an assignment.")
	again = b.post(path, url.Values{"t": {token}, "assignment": {"hw2"}, "points": {"-1"}})
	require.Equal(t, http.StatusUnprocessableEntity, again.Code)
	require.Contains(t, again.Body.String(), `value="hw2" checked`)
	require.Contains(t, again.Body.String(), `value="-1"`)
	require.Equal(t, http.StatusNotFound, b.post(path, url.Values{"t": {token}, "assignment": {"hw9"}, "points": {"1"}}).Code)

	form := url.Values{"t": {token}, "assignment": {"hw1", "hw2", "hw2"}, "points": {"12,5"}}
	rec := b.post(path, form)
	action, answer := returned(t, rec)
	require.Equal(t, ltitest.Return, action)
	policy := rec.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "form-action https://moodle.school.example/mod/lti/contentitem_return.php; ")
	require.Contains(t, policy, "frame-ancestors 'none'")
	require.Contains(t, rec.Body.String(), "/static/platform.")
	items := w.platform.Chosen(t, answer)
	require.Len(t, items, 2)
	require.Equal(t, "ltiResourceLink", items[1].Type)
	require.Equal(t, "Second <b>", items[1].Title)
	require.Equal(t, target, items[1].URL)
	require.Equal(t, "_blank", items[1].Window["targetName"])
	require.InDelta(t, 12.5, items[1].LineItem.Most, 0)
	require.Equal(t, "Second <b>", items[1].LineItem.Label)
	require.Equal(t, "hw2", items[1].LineItem.Resource)
	require.Equal(t, http.StatusForbidden, b.post(path, form).Code, "it was answered already")

	path, _ = leads(t, w.browser().come("sue", "Learner", func(c map[string]any) {
		c[ltitest.Claim+"resource_link"] = map[string]any{"id": "link-new"}
		c[ltitest.Claim+"custom"] = items[1].Custom
	}))
	require.Equal(t, "/classes/cs101/assignments/hw2", path)
}

// What the platform does not take is not offered, and what it wants back is bounded.
func TestDeepLinkingTakesWhatItMay(t *testing.T) {
	t.Parallel()
	w := choosing(t)
	b := w.browser()
	path, token := leads(t, b.choose("tess", "Instructor", settings("accept_multiple", false), settings("accept_lineitem", false), settings("accept_presentation_document_targets", []string{"iframe"})))
	require.Contains(t, b.get(path+"?"+url.Values{"t": {token}}.Encode()).Body.String(), `type="radio"`)
	several := b.post(path, url.Values{"t": {token}, "assignment": {"hw1", "hw2"}, "points": {"100"}})
	require.Equal(t, http.StatusUnprocessableEntity, several.Code)
	require.Contains(t, several.Body.String(), "one assignment at a time")
	_, answer := returned(t, b.post(path, url.Values{"t": {token}, "assignment": {"hw1"}, "points": {"100"}}))
	items := w.platform.Chosen(t, answer)
	require.Len(t, items, 1)
	require.Nil(t, items[0].LineItem)
	require.Nil(t, items[0].Window)

	path, token = leads(t, b.choose("tess", "Instructor"))
	_, answer = returned(t, b.post(path, url.Values{"t": {token}, "how": {"none"}}))
	require.Empty(t, w.platform.Chosen(t, answer), "nothing is an answer, too")
}

func TestDeepLinkingRefusals(t *testing.T) {
	t.Parallel()
	w := choosing(t)
	for name, change := range map[string]func(map[string]any){
		"no settings":          func(c map[string]any) { delete(c, ltitest.Settings) },
		"no types":             settings("accept_types", nil),
		"no links":             settings("accept_types", []string{"file", "html", "link"}),
		"nowhere":              settings("deep_link_return_url", nil),
		"not encrypted":        settings("deep_link_return_url", "http://moodle.school.example/return"),
		"elsewhere":            settings("deep_link_return_url", "https://evil.example/return"),
		"another port":         settings("deep_link_return_url", "https://moodle.school.example:8443/return"),
		"a user":               settings("deep_link_return_url", "https://moodle.school.example@evil.example/return"),
		"another policy":       settings("deep_link_return_url", "https://moodle.school.example/return;script-src *"),
		"a long address":       settings("deep_link_return_url", "https://moodle.school.example/"+strings.Repeat("x", 1000)),
		"much data":            settings("data", strings.Repeat("x", 5000)),
		"data of another type": settings("data", 7),
		"expired":              func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
		"a student":            func(c map[string]any) { c[ltitest.Claim+"roles"] = []string{ltitest.Role + "Learner"} },
		"another deployment":   func(c map[string]any) { c[ltitest.Claim+"deployment_id"] = "deployment-2" },
	} {
		b := w.browser()
		require.Equal(t, http.StatusForbidden, b.choose("tess", "Instructor", change).Code, name)
		require.Equal(t, http.StatusSeeOther, b.get("/account").Code, "%s: nobody is signed in", name)
	}
	b := w.browser()
	path, token := leads(t, b.choose("tess", "Instructor"))
	query := path + "?" + url.Values{"t": {token}}.Encode()
	require.Equal(t, http.StatusForbidden, w.browser().get(query).Code, "another browser")
	require.Equal(t, http.StatusForbidden, w.browser().post(path, url.Values{"t": {token}, "assignment": {"hw1"}, "points": {"1"}}).Code)
	require.Equal(t, http.StatusForbidden, b.ask(http.MethodPost, path, url.Values{"t": {token}, "assignment": {"hw1"}, "points": {"1"}}, "cross-site").Code)
	require.Equal(t, http.StatusForbidden, b.get(path+"?t="+token+"A").Code, "changed")
	now := time.Now().Add(time.Hour)
	w.lti.Now = func() time.Time { return now }
	require.Equal(t, http.StatusForbidden, b.get(query).Code, "expired")
}

// A platform may have pages at further origins, which an admin names.
func TestDeepLinkingToFurtherOrigins(t *testing.T) {
	t.Parallel()
	w := choosing(t)
	elsewhere := settings("deep_link_return_url", "https://school.instructure.com/return")
	require.Equal(t, http.StatusForbidden, w.browser().choose("tess", "Instructor", elsewhere).Code)
	p, err := w.lti.Platform(t.Context(), root, "moodle")
	require.NoError(t, err)
	p.Origins = []string{"https://school.instructure.com/x"}
	_, err = w.lti.PutPlatform(t.Context(), root, p)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	p.Origins = []string{"https://school.instructure.com"}
	_, err = w.lti.PutPlatform(t.Context(), root, p)
	require.NoError(t, err)
	leads(t, w.browser().choose("tess", "Instructor", elsewhere))
}

// frame is a browser that shows a request to choose content in a frame of the platform, where it keeps no cookies.
func (w *fixture) frame(subject, role string, change ...func(map[string]any)) (*browser, *httptest.ResponseRecorder) {
	w.t.Helper()
	b := w.browser()
	form := loginForm()
	form.Set("target_link_uri", site+"/lti/deep")
	rec := b.ask(http.MethodGet, "/lti/login?"+form.Encode(), nil, "cross-site", "Sec-Fetch-Dest", "iframe")
	require.Equal(w.t, http.StatusSeeOther, rec.Code, said(rec))
	require.Empty(w.t, b.cookies)
	to, err := url.Parse(rec.Header().Get("Location"))
	require.NoError(w.t, err)
	claims := w.platform.DeepClaims(to.Query(), site+"/lti/deep", subject, role)
	for _, c := range change {
		c(claims)
	}
	rec = b.launch(w.platform.Token(w.t, claims), to.Query().Get("state"))
	require.Empty(w.t, b.cookies, "nobody is signed in")
	return b, rec
}

func decisionOf(t *testing.T, rec *httptest.ResponseRecorder) string {
	t.Helper()
	require.Equal(t, http.StatusOK, rec.Code, said(rec))
	found := regexp.MustCompile(`name="t" value="([^"]*)"`).FindStringSubmatch(rec.Body.String())
	require.NotNil(t, found, said(rec))
	return found[1]
}

// In the platform's frame content is chosen without a session, and nothing else can be done.
func TestDeepLinkingInFrames(t *testing.T) {
	t.Parallel()
	w := choosing(t)
	b, rec := w.frame("tess", "Instructor")
	token := decisionOf(t, rec)
	policy := rec.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "frame-ancestors https://moodle.school.example")
	require.Contains(t, policy, "form-action 'self'")
	require.Empty(t, rec.Header().Get("X-Frame-Options"))
	rec = b.post("/lti/deep", url.Values{"t": {token}, "assignment": {"hw2"}, "points": {"10"}})
	_, answer := returned(t, rec)
	require.Len(t, w.platform.Chosen(t, answer), 1)
	require.Contains(t, rec.Header().Get("Content-Security-Policy"), "frame-ancestors https://moodle.school.example")
	require.Empty(t, b.cookies)
	for _, path := range []string{"/lti/tie", "/lti/connect", "/lti/link", "/account"} {
		require.Equal(t, http.StatusSeeOther, b.get(path+"?"+url.Values{"t": {token}}.Encode()).Code, path)
	}
	_, rec = w.frame("tess", "Instructor", func(c map[string]any) {
		c[ltitest.Claim+"message_type"] = "LtiResourceLinkRequest"
		c[ltitest.Claim+"resource_link"] = map[string]any{"id": "link-1"}
	})
	require.Equal(t, http.StatusForbidden, rec.Code, "a link cannot be opened without a cookie")
	_, rec = w.frame("root-there", "Instructor", func(c map[string]any) { c["email"] = "root@school.example" })
	require.Equal(t, http.StatusOK, rec.Code)
	require.Contains(t, rec.Body.String(), "in a window of its own")
	_, rec = w.frame("sue", "Learner")
	require.Equal(t, http.StatusForbidden, rec.Code)
}

// A course that is not connected yet is connected first, in a frame as in a window.
func TestDeepLinkingConnectsFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.known()
	_, err := w.accounts.TieIdentity(t.Context(), core.Actor{Handle: "tess"}, w.platform.Record().Issuer+"#lti-moodle", "tess")
	require.NoError(t, err)
	b, rec := w.frame("tess", "Instructor")
	token := decisionOf(t, rec)
	require.Contains(t, rec.Body.String(), `<option value="cs101">`)
	require.Equal(t, http.StatusForbidden, b.post("/lti/deep", url.Values{"t": {token}, "assignment": {"hw1"}, "points": {"1"}}).Code)
	require.Equal(t, http.StatusForbidden, b.post("/lti/deep", url.Values{"t": {token}, "how": {"new"}, "handle": {"x"}, "title": {"X"}}).Code)
	rec = b.post("/lti/deep", url.Values{"t": {token}, "how": {"class"}, "class": {"cs101"}})
	require.Contains(t, said(rec), `value="hw1"`)
	_, answer := returned(t, b.post("/lti/deep", url.Values{"t": {decisionOf(t, rec)}, "assignment": {"hw1"}, "points": {"1"}}))
	require.Len(t, w.platform.Chosen(t, answer), 1)

	w = newFixture(t)
	_, err = w.accounts.TieIdentity(t.Context(), core.Actor{Handle: "tess"}, w.platform.Record().Issuer+"#lti-moodle", "tess")
	require.NoError(t, err)
	b = w.browser()
	path, token := leads(t, b.choose("tess", "Instructor"))
	require.Equal(t, "/lti/connect", path)
	path, _ = leads(t, b.post(path, url.Values{"t": {token}, "class": {"cs101"}}))
	require.Equal(t, "/lti/deep", path)
}
