package sign_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/page"
)

// admin is a browser in which root is signed in.
func (w *fixture) admin() *browser {
	w.t.Helper()
	w.password("root", good)
	b := w.browser()
	b.in("root", good)
	return b
}

func TestUsersAreMadeAndSet(t *testing.T) {
	t.Parallel()
	w := newFixture(t, secure, nil)
	b := w.admin()
	b.shows(b.get("/users"), "ann@school.example", "Ruth Root")
	again := b.post("/users", "handle", "Bob!", "name", "<b>Bob</b>", "email", "bob@school.example", "role", "observer")
	b.refuses(again, `value="&lt;b&gt;Bob&lt;/b&gt;"`)
	require.Contains(t, again.Text, `value="observer" checked`)
	b.refuses(b.post("/users", "handle", "bob", "role", "teacher"), "role")
	b.refuses(b.post("/users", "handle", "bob", "email", "ann@school.example"), "ann@school.example")
	b.goes(b.post("/users", "handle", "bob", "name", "<b>Bob</b>", "email", "Bob@School.example", "role", "observer"), "/users/bob")
	text := b.shows(b.get("/users/bob"), "User bob was created", "bob@school.example", `value="observer" checked`)
	require.NotContains(t, text, "<b>Bob")
	b.goes(b.post("/users/bob", "name", "Bob", "email", "", "role", "operator", "role", "runner", "revision", "1"), "/users/bob")
	u, err := w.store.GetUser(t.Context(), "bob")
	require.NoError(t, err)
	require.Equal(t, []core.UserRole{core.RoleOperator, core.RoleRunner}, u.Roles)
	require.Equal(t, "Bob", u.Name)
	stale := b.post("/users/bob", "name", "Rob", "revision", "1")
	require.Equal(t, http.StatusUnprocessableEntity, stale.Code)
	require.Contains(t, stale.Text, `value="Rob"`, "what was typed stays")
	require.Equal(t, http.StatusUnprocessableEntity, b.post("/users/bob", "name", "Rob").Code)
	b.goes(b.post("/users/bob/delete"), "/users")
	b.shows(b.get("/users"), "User bob is deleted.")
	require.Equal(t, http.StatusNotFound, b.get("/users/bob").Code)
	require.Equal(t, http.StatusNotFound, b.post("/users/bob/delete").Code)
	b.refuses(b.post("/users/root/delete"), "last admin")
	b.refuses(b.post("/users/root/disable", "disabled", "yes"), "last admin")
}

func TestAdminsLetUsersInAndOut(t *testing.T) {
	t.Parallel()
	w := newFixture(t, secure, nil)
	b := w.admin()
	text := b.shows(b.post("/users/ann/link"), "https://drover.example/sign-in/link?token=drl_", "the first person who opens it is signed in")
	ann := w.browser()
	ann.goes(ann.post("/sign-in/link", "token", secretOf(t, text)), "/")
	ann.goes(ann.post("/account/password", "password", good, "again", good), "/")
	token := secretOf(t, ann.post("/account/tokens", "name", "laptop", "days", "3", "scope", "read").Text)
	require.NotContains(t, b.shows(b.get("/users/ann"), "laptop"), token)

	b.goes(b.post("/users/ann/sign-out"), "/users/ann")
	require.Empty(t, ann.signedIn())
	ann.in("ann", good)
	b.goes(b.post("/users/ann/disable", "disabled", "yes"), "/users/ann")
	require.Empty(t, ann.signedIn())
	_, _, err := w.service.ByToken(t.Context(), token)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))
	b.refuses(b.post("/users/ann/link"), "enable it first")
	b.goes(b.post("/users/ann/disable", "disabled", "no"), "/users/ann")
	ann.in("ann", good)
	got, _, err := w.service.ByToken(t.Context(), token)
	require.NoError(t, err)
	b.goes(b.post("/users/ann/tokens/"+got.ID+"/revoke"), "/users/ann")
	_, _, err = w.service.ByToken(t.Context(), token)
	require.Equal(t, core.CodeForbidden, core.CodeOf(err))

	_, err = w.service.SignInOIDC(t.Context(), account.Claim{Issuer: "https://id.example", Subject: "7", Email: "ann@school.example", Verified: true})
	require.NoError(t, err)
	b.shows(b.get("/users/ann"), "https://id.example")
	b.goes(b.post("/users/ann/identities/untie", "issuer", "https://id.example", "subject", "7"), "/users/ann")
	require.NotContains(t, b.get("/users/ann").Text, "https://id.example")
}

// example fills the path of a route in.
func example(route page.Route, user string) (method, path string) {
	method, path, _ = strings.Cut(route.Pattern, " ")
	return method, strings.NewReplacer("{user}", user, "{id}", "01kb5zzzzzzzzzzzzzzzzzzzzz", "{$}", "").Replace(path)
}

// Who asks decides what is answered, for every route; who may not manage users hears the
// same whether there is such a user or not.
func TestRoutesByRole(t *testing.T) {
	t.Parallel()
	w := newFixture(t, secure, nil)
	asking := map[string]*browser{"nobody": w.browser()}
	for i, role := range append([]core.UserRole{""}, clusterRoles()...) {
		handle := fmt.Sprintf("user-%d", i)
		u := school.User{Handle: handle, Roles: []core.UserRole{role}}
		if role == "" {
			u.Roles = nil
		}
		w.put(u)
		w.password(handle, good)
		asking[string(role)] = w.browser()
		asking[string(role)].in(handle, good)
	}
	for _, route := range w.site.Routes() {
		if route.Public || strings.HasSuffix(route.Pattern, "sign-out") {
			continue
		}
		for role, b := range asking {
			method, path := example(route, "ann")
			a := b.ask(method, path, url.Values{})
			may := route.Action == "" || role == string(core.RoleAdmin)
			switch {
			case role == "nobody":
				require.Equal(t, http.StatusSeeOther, a.Code, route.Pattern)
				require.True(t, strings.HasPrefix(a.Get("Location"), "/sign-in"), route.Pattern)
			case may:
				require.NotEqual(t, http.StatusForbidden, a.Code, "%s as %q", route.Pattern, role)
			default:
				require.Equal(t, http.StatusForbidden, a.Code, "%s as %q", route.Pattern, role)
				_, path = example(route, "ghost")
				require.Equal(t, a.Text, strings.ReplaceAll(b.ask(method, path, url.Values{}).Text, "ghost", "ann"), "%s as %q", route.Pattern, role)
			}
		}
	}
}

func clusterRoles() []core.UserRole {
	return []core.UserRole{core.RoleAdmin, core.RoleOperator, core.RoleObserver, core.RoleRunner}
}

// No form of another site does anything here.
func TestFormsOfOtherSites(t *testing.T) {
	t.Parallel()
	w := newFixture(t, secure, nil)
	b := w.admin()
	posts := 0
	for _, route := range w.site.Routes() {
		method, path := example(route, "ann")
		if method != http.MethodPost {
			continue
		}
		posts++
		for _, header := range []map[string]string{{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"}} {
			b.header = header
			a := b.post(path, "user", "root", "password", good, "language", "de", "disabled", "yes", "revision", "1")
			require.Equal(t, http.StatusForbidden, a.Code, "%s with %v", path, header)
			require.Empty(t, a.Header["Set-Cookie"], path)
		}
	}
	require.Greater(t, posts, 15)
	b.header = map[string]string{"Sec-Fetch-Site": "same-origin"}
	require.Equal(t, "Ruth Root", b.signedIn())
	u, err := w.store.GetUser(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, int64(1), u.Revision)
}

// crowd is a store with very many users, that counts how often they are listed.
type crowd struct {
	classes.Store
	of    int
	lists int
}

func (c *crowd) ListUsers(_ context.Context, after string, limit int) ([]school.User, error) {
	c.lists++
	from := 0
	if after != "" {
		if _, err := fmt.Sscanf(after, "u%06d", &from); err != nil {
			return nil, err
		}
		from++
	}
	var some []school.User
	for n := from; n < min(c.of, from+limit); n++ {
		u := school.User{Handle: fmt.Sprintf("u%06d", n), Name: fmt.Sprintf("Student %d", n), Disabled: n%2 == 1}
		if n == c.of-1 {
			u.Roles = []core.UserRole{core.RoleOperator}
		}
		some = append(some, u)
	}
	return some, nil
}

func TestUsersByPages(t *testing.T) {
	t.Parallel()
	w := newFixture(t, secure, nil)
	b := w.admin()
	c := &crowd{Store: w.store, of: 9_999}
	w.deps.Classes.Store = c
	next := func(text string) string {
		_, after, found := strings.Cut(text, `rel="next" href="`)
		if !found {
			return ""
		}
		path, _, _ := strings.Cut(after, `"`)
		return html.UnescapeString(path)
	}
	first := b.shows(b.get("/users"), "u000049")
	require.NotContains(t, first, "u000050")
	require.Equal(t, 1, c.lists, "of 10,000 users")
	second := b.shows(b.get(next(first)), "u000050", "u000099")
	require.NotContains(t, second, "u000049<")

	c.lists = 0
	text := b.shows(b.get("/users?text=student+9997&state=disabled"), "There are none.", "Not all users were searched yet.")
	require.LessOrEqual(t, c.lists, 4)
	for pages := 1; !strings.Contains(text, "u009997"); pages++ {
		require.Less(t, pages, 6)
		text = b.shows(b.get(next(text)), `value="student 9997"`)
	}
	require.Empty(t, next(text))
	require.Empty(t, next(b.shows(b.get("/users?role=operator&after=u009000"), "u009998")))
	text = b.shows(b.get("/users?state=disabled"), "u000099")
	require.NotContains(t, text, "u000101")
	b.shows(b.get(next(text)), "u000101")
	require.NotContains(t, b.shows(b.get("/users?text=%3Cscript%3Ealert(1)&role=x&state=y")), "<script>alert")
	c.of = 50
	require.Empty(t, next(b.shows(b.get("/users"), "u000049")))
}
