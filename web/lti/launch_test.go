package lti_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drover/core"
	"drover/core/classes/lti/ltitest"
	"drover/core/school"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/alexedwards/scs/v2/memstore.(*MemStore).startCleanup"))
}

// A teacher connects a course by a first launch, students come, and each launch leads where it should.
func TestLaunches(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	refused := w.browser().come("sue", "Learner")
	require.Equal(t, http.StatusForbidden, refused.Code)
	require.Contains(t, refused.Body.String(), "not connected with a class yet")
	_, err := w.store.GetUser(t.Context(), "sue")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "nobody is made for a course that is not connected")
	w.connected()

	b := w.browser()
	path, _ := leads(t, b.come("sue", "Learner"))
	require.Equal(t, "/classes/cs101/assignments/hw1", path)
	require.Equal(t, core.RoleStudent, w.role("sue"))
	u, err := w.store.GetUser(t.Context(), "sue")
	require.NoError(t, err)
	require.Equal(t, "Name of sue", u.Name)
	require.Contains(t, b.get("/account").Body.String(), "Name of sue", "the browser is signed in")

	path, _ = leads(t, w.browser().come("sue", "Learner", func(c map[string]any) {
		c[ltitest.Claim+"resource_link"] = map[string]any{"id": "link-2"}
		c["email"] = "other@school.example"
	}))
	require.Equal(t, "/classes/cs101", path, "a link without an assignment leads students to the class")
	require.Equal(t, core.RoleStudent, w.role("sue"), "the same subject is the same user")

	leads(t, w.browser().come("ned", "Learner", func(c map[string]any) {
		c[ltitest.Claim+"roles"] = []string{ltitest.Role + "Instructor", "http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant"}
	}))
	require.Equal(t, core.RoleAssistant, w.role("ned"))
	leads(t, w.browser().come("ned", "Learner"))
	require.Equal(t, core.RoleAssistant, w.role("ned"), "a launch lowers no role")
	path, _ = leads(t, w.browser().come("sue", "Learner", func(c map[string]any) {
		c[ltitest.Claim+"resource_link"] = map[string]any{"id": "link-3"}
		c[ltitest.Claim+"custom"] = map[string]any{"assignment": "hw1", "n": 1}
	}))
	require.Equal(t, "/classes/cs101/assignments/hw1", path, "a link may name its assignment")
	for _, role := range []string{"Mentor", "Administrator"} {
		require.Equal(t, http.StatusForbidden, w.browser().come("mia", role).Code, role)
	}
}

// Every claim that is not as it has to be is refused, and nobody is signed in.
func TestLaunchRefusals(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connected()
	set := func(name string, value any) func(map[string]any) { return func(c map[string]any) { c[name] = value } }
	without := func(name string) func(map[string]any) { return func(c map[string]any) { delete(c, name) } }
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).Unix() }
	for name, change := range map[string]func(map[string]any){
		"another issuer":        set("iss", "https://evil.example"),
		"another audience":      set("aud", "client-2"),
		"no audience":           without("aud"),
		"two audiences, no azp": set("aud", []string{ltitest.Client, "client-2"}),
		"another azp":           set("azp", "client-2"),
		"expired":               set("exp", ago(2*time.Minute)),
		"never expires":         without("exp"),
		"made long ago":         set("iat", ago(time.Hour)),
		"made later":            set("iat", ago(-time.Hour)),
		"made never":            without("iat"),
		"not yet":               set("nbf", ago(-time.Hour)),
		"another nonce":         set("nonce", "other"),
		"no nonce":              without("nonce"),
		"another version":       set(ltitest.Claim+"version", "1.1"),
		"no deployment":         without(ltitest.Claim + "deployment_id"),
		"another deployment":    set(ltitest.Claim+"deployment_id", "deployment-2"),
		"another target":        set(ltitest.Claim+"target_link_uri", "https://evil.example/lti/launch"),
		"another message":       set(ltitest.Claim+"message_type", "LtiSubmissionReviewRequest"),
		"no message":            without(ltitest.Claim + "message_type"),
		"no subject":            without("sub"),
		"a long subject":        set("sub", strings.Repeat("s", school.MaxSub+1)),
		"no roles":              without(ltitest.Claim + "roles"),
		"no role here":          set(ltitest.Claim+"roles", []string{"http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor"}),
		"no link":               without(ltitest.Claim + "resource_link"),
		"no course":             without(ltitest.Claim + "context"),
		"roles of another type": set(ltitest.Claim+"roles", 7),
	} {
		b := w.browser()
		rec := b.come("sue", "Learner", change)
		require.Equal(t, http.StatusForbidden, rec.Code, name)
		require.Equal(t, http.StatusSeeOther, b.get("/account").Code, "%s: nobody is signed in", name)
	}
	leads(t, w.browser().come("sue", "Learner", set("aud", []string{ltitest.Client, "client-2"}), set("azp", ltitest.Client)))
}

// A token is taken only if the platform's own key signed it by RS256.
func TestSignaturesAreChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connected()
	strange, weak := ltitest.NewKey(t, "k1", 2048), ltitest.NewKey(t, "weak", 1024)
	w.platform.Publish(w.platform.Key, weak)
	plain := func(claims any) string {
		raw, err := json.Marshal(claims)
		require.NoError(t, err)
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","kid":"k1"}`)) + "." + base64.RawURLEncoding.EncodeToString(raw) + "."
	}
	public, err := w.platform.Key.Public().MarshalJSON()
	require.NoError(t, err)
	for name, sign := range map[string]func(claims any) string{
		"by nobody":              plain,
		"by another key":         func(c any) string { return ltitest.Sign(t, strange.Private, "k1", jose.RS256, c) },
		"by an unknown key":      func(c any) string { return ltitest.Sign(t, strange.Private, "k9", jose.RS256, c) },
		"by a key without an id": func(c any) string { return ltitest.Sign(t, w.platform.Key.Private, "", jose.RS256, c) },
		"by a weak key":          func(c any) string { return ltitest.Sign(t, weak.Private, "weak", jose.RS256, c) },
		"by the public key":      func(c any) string { return ltitest.Sign(t, public, "k1", jose.HS256, c) },
		"by PS256":               func(c any) string { return ltitest.Sign(t, w.platform.Key.Private, "k1", jose.PS256, c) },
		"changed":                func(c any) string { return w.platform.Token(t, c) + "A" },
		"not at all":             func(any) string { return "x" },
		"at length":              func(any) string { return strings.Repeat("x", 65<<10) },
	} {
		b := w.browser()
		q := b.login()
		rec := b.launch(sign(w.platform.Claims(q, "sue", "Learner")), q.Get("state"))
		require.Equal(t, http.StatusForbidden, rec.Code, name)
		require.Equal(t, http.StatusSeeOther, b.get("/account").Code, name)
	}
}

// A launch answers one login, once, in the browser that began it.
func TestLoginsAreOfOneBrowser(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connected()
	b, thief := w.browser(), w.browser()
	q := b.login()
	token := w.platform.Token(t, w.platform.Claims(q, "sue", "Learner"))
	require.Equal(t, http.StatusForbidden, thief.launch(token, q.Get("state")).Code, "without a cookie")
	thief.login()
	require.Equal(t, http.StatusForbidden, thief.launch(token, q.Get("state")).Code, "with another cookie")
	for name, state := range map[string]string{"none": "", "another": "x.y", "changed": "A" + q.Get("state")} {
		require.Equal(t, http.StatusForbidden, b.launch(token, state).Code, name)
	}
	later := b.login() // the cookie is another now
	require.Equal(t, http.StatusForbidden, b.launch(token, q.Get("state")).Code)
	token = w.platform.Token(t, w.platform.Claims(later, "sue", "Learner"))
	leads(t, b.launch(token, later.Get("state")))
	require.Equal(t, http.StatusForbidden, b.launch(token, later.Get("state")).Code, "a second time")
	c := b.cookies["__Host-drover-lti"]
	require.True(t, c.Secure && c.HttpOnly && c.SameSite == http.SameSiteNoneMode)
}

// A login names a platform that is known, and a target that is here.
func TestLoginRefusals(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, change := range map[string]url.Values{
		"another issuer": {"iss": {"https://evil.example"}}, "another client": {"client_id": {"x"}}, "no hint": {"login_hint": {""}},
		"another site": {"target_link_uri": {"https://evil.example/lti/launch"}}, "another page": {"target_link_uri": {site + "/users"}},
		"a user": {"target_link_uri": {"https://a@drover.example/lti/launch"}}, "no target": {"target_link_uri": {""}},
	} {
		form := loginForm()
		for field, value := range change {
			form[field] = value
		}
		rec := w.browser().ask(http.MethodPost, "/lti/login", form, "cross-site")
		require.Equal(t, http.StatusForbidden, rec.Code, name)
	}
	require.Equal(t, http.StatusSeeOther, w.browser().ask(http.MethodPost, "/lti/login", loginForm(), "cross-site").Code)
}

// In a frame there is a link to a window, for the platform's frames only; no other page can be framed.
func TestFrames(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.browser()
	rec := b.ask(http.MethodGet, "/lti/login?"+loginForm().Encode(), nil, "cross-site", "Sec-Fetch-Dest", "iframe")
	require.Equal(t, http.StatusOK, rec.Code)
	policy := rec.Header().Get("Content-Security-Policy")
	require.Contains(t, policy, "frame-ancestors https://moodle.school.example")
	require.NotContains(t, policy, "script-src")
	require.Empty(t, rec.Header().Get("X-Frame-Options"))
	require.Contains(t, rec.Body.String(), `target="_blank"`)
	require.Contains(t, rec.Body.String(), "/lti/login?client_id=client-1")
	require.Empty(t, b.cookies)
	form := loginForm()
	form.Set("iss", "https://evil.example")
	rec = b.ask(http.MethodGet, "/lti/login?"+form.Encode(), nil, "cross-site", "Sec-Fetch-Dest", "iframe")
	require.Equal(t, http.StatusForbidden, rec.Code)
	require.Contains(t, rec.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'")
}

// Keys are read when they are not known, at most once a minute.
func TestKeysAreKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connected()
	asked := w.platform.Asked()
	require.Equal(t, 1, asked, "two launches later")
	now := time.Now()
	w.lti.Now = func() time.Time { return now }
	w.platform.Key = ltitest.NewKey(t, "k2", 2048)
	w.platform.Publish(w.platform.Key)
	require.Equal(t, http.StatusForbidden, w.browser().come("sue", "Learner").Code)
	require.Equal(t, 1, w.platform.Asked(), "not again within a minute")
	now = now.Add(61 * time.Second)
	leads(t, w.browser().come("sue", "Learner", func(c map[string]any) { c["iat"] = now.Unix() }))
	require.Equal(t, 2, w.platform.Asked())
}

// An e-mail address alone gives access to nothing but a place in a roster.
func TestAddressesTakeNoAccountOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.connected()
	b := w.browser()
	leads(t, b.come("ann", "Learner"))
	require.Contains(t, b.get("/account").Body.String(), ">ann<", "ann was only in a roster")

	for _, user := range []string{"root", "tess"} {
		b := w.browser()
		path, _ := leads(t, b.come(user+"-there", "Instructor", func(c map[string]any) { c["email"] = user + "@school.example" }))
		require.Equal(t, "/lti/tie", path)
		require.Equal(t, http.StatusSeeOther, b.get("/account").Code, "nobody is signed in")
	}
	_, err := w.store.PutUser(t.Context(), school.User{Handle: "bob", Email: "bob@school.example"})
	require.NoError(t, err)
	w.password("bob")
	thief, bob := w.browser(), w.browser()
	path, stolen := leads(t, thief.come("mallory", "Learner", func(c map[string]any) { c["email"] = "bob@school.example" }))
	require.Equal(t, "/lti/tie", path)
	leads(t, bob.post("/sign-in", url.Values{"user": {"bob"}, "password": {"three blind mice"}}))
	require.Equal(t, http.StatusForbidden, bob.post("/lti/tie", url.Values{"t": {stolen}}).Code, "what another browser began")
	path, own := leads(t, bob.come("bob", "Learner"))
	require.Equal(t, "/lti/tie", path)
	require.Contains(t, bob.get("/lti/tie?"+url.Values{"t": {own}}.Encode()).Body.String(), "Moodle of the school")
	leads(t, bob.post("/lti/tie", url.Values{"t": {own}}))
	path, _ = leads(t, w.browser().come("bob", "Learner"))
	require.Equal(t, "/classes/cs101/assignments/hw1", path)
	require.Equal(t, core.RoleStudent, w.role("bob"))
}

// A course is connected by a teacher, with a class of the teacher's or, where that is allowed, with a new one.
func TestConnecting(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.browser()
	path, token := leads(t, b.come("new", "Instructor"))
	require.Equal(t, "/lti/connect", path)
	shown := b.get("/lti/connect?" + url.Values{"t": {token}}.Encode()).Body.String()
	require.Contains(t, shown, "You teach no class here yet.")
	require.NotContains(t, shown, "cs101")
	require.Equal(t, http.StatusNotFound, b.post("/lti/connect", url.Values{"t": {token}, "class": {"cs101"}}).Code, "a class of somebody else")
	fresh := url.Values{"t": {token}, "how": {"new"}, "handle": {"cs-moodle"}, "title": {"Computer science"}}
	require.Equal(t, http.StatusForbidden, b.post("/lti/connect", fresh).Code)
	p, err := w.lti.Platform(t.Context(), root, "moodle")
	require.NoError(t, err)
	p.NewClasses = true
	_, err = w.lti.PutPlatform(t.Context(), root, p)
	require.NoError(t, err)
	other := w.browser()
	require.Equal(t, http.StatusSeeOther, other.post("/lti/connect", fresh).Code, "signed in nowhere")
	bad := url.Values{"t": {token}, "how": {"new"}, "handle": {"CS 1"}, "title": {"Computer science"}}
	again := b.post("/lti/connect", bad)
	require.Equal(t, http.StatusUnprocessableEntity, again.Code)
	require.Contains(t, again.Body.String(), `value="CS 1"`)
	path, _ = leads(t, b.post("/lti/connect", fresh))
	require.Equal(t, "/lti/link", path)
	in, err := w.store.Memberships(t.Context(), "new")
	require.NoError(t, err)
	require.Equal(t, core.RoleTeacher, in[0].Role)
}

// The site's key is made once, and only its public part is shown.
func TestOwnKey(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	first := w.browser().get("/lti/jwks").Body.String()
	var set jose.JSONWebKeySet
	require.NoError(t, json.Unmarshal([]byte(first), &set))
	require.Len(t, set.Keys, 1)
	require.True(t, set.Keys[0].IsPublic())
	require.NotContains(t, first, `"d"`)
	another := w.service(w.lti.Limits, w.lti.URL, w.lti.Classes)
	again, err := another.JWKS(t.Context())
	require.NoError(t, err)
	require.Equal(t, set.Keys[0].KeyID, again.Keys[0].KeyID)
	require.Contains(t, w.browser().get("/lti/config.json").Body.String(), `"oidc_initiation_url": "https://drover.example/lti/login"`)
}
