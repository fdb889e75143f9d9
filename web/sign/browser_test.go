package sign_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/school"
	driven "drover/web/browsertest"
)

// served is the fixture's site where a real browser finds it.
func served(t *testing.T) (*fixture, string) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	at := "http://" + s.Listener.Addr().String()
	i := newIssuer(t)
	i.Name = "School of Droving"
	w := newFixture(t, at, i.Provider)
	s.Config.Handler = w
	s.Start()
	t.Cleanup(s.Close)
	return w, at
}

// enter signs in as a person does.
func enter(tab *driven.Tab, at, user, password string) {
	tab.Goto(at + "/sign-in?next=/account")
	tab.Fill("#f-user", user)
	tab.Fill("#f-password", password)
	tab.Click("main form button")
	tab.AwaitPath("/account")
}

// looks has the page that a tab shows fit every screen, and be of use to all.
func looks(t *testing.T, tab *driven.Tab, name string) {
	t.Helper()
	for _, screen := range []struct {
		name  string
		width int64
		dark  bool
	}{{"light", 1200, false}, {"phone", 360, true}} {
		tab.Screen(screen.width, 800, screen.dark)
		if dir := os.Getenv("DROVER_PICTURES"); dir != "" {
			tab.Screenshot(filepath.Join(dir, "sign-"+name+"-"+screen.name+".png"))
		}
		require.LessOrEqual(t, tab.Overflow(), 0, "%s, %s", name, screen.name)
		require.Empty(t, tab.Axe(), "%s, %s", name, screen.name)
	}
}

func TestPagesInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w, at := served(t)
	ctx := t.Context()
	w.put(school.User{Handle: "a-student-with-quite-a-long-handle-2026", Name: "Maximiliane von und zu Hohenstein-Waldburg", Email: "maximiliane.hohenstein-waldburg@students.university.example"})
	w.put(school.User{Handle: "olga", Name: "Olga", Roles: []core.UserRole{core.RoleOperator, core.RoleRunner}, Disabled: true})
	w.password("root", good)
	link, err := w.service.MakeLink(ctx, root, "ann", 0)
	require.NoError(t, err)
	secret := link.Secret
	_, _, err = w.service.IssueToken(ctx, root, "the laptop in the office on the second floor", school.Scopes(), 0)
	require.NoError(t, err)
	require.NoError(t, w.store.AddIdentity(ctx, school.Identity{Issuer: "https://login.university.example/realms/students", Subject: "0d5e7f9a-1b2c-4d3e-8f90-a1b2c3d4e5f6", User: "root", Created: 1}))

	tab := driven.Start(t).Tab(t)
	tab.Goto(at + "/sign-in")
	looks(t, tab, "in")
	tab.Fill("#f-user", "root")
	tab.Fill("#f-password", "wrong, and more")
	tab.Click("main form button")
	tab.Await("There is no such user")
	looks(t, tab, "wrong")
	tab.Goto(at + "/sign-in/link?token=" + secret)
	looks(t, tab, "link")
	tab.Goto(at + "/sign-in/link?token=none")
	tab.Await("The link is invalid")
	enter(tab, at, "root", good)
	for _, path := range []string{"account", "account/password", "users", "users/root", "users/olga"} {
		tab.Goto(at + "/" + path)
		looks(t, tab, filepath.Base(path))
	}
	tab.Goto(at + "/users/a-student-with-quite-a-long-handle-2026")
	looks(t, tab, "student")
	tab.Press("Create a link")
	tab.Await("It is not shown again")
	looks(t, tab, "userlink")
}

// A person comes by a link, sets a password, makes a token and revokes it, and goes.
func TestAPersonComesAndGoes(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w, at := served(t)
	link, err := w.service.MakeLink(t.Context(), root, "ann", 0)
	require.NoError(t, err)
	secret := link.Secret
	tab := driven.Start(t).Tab(t)
	tab.Goto(at + "/sign-in/link?token=" + secret)
	tab.Click("main form button")
	tab.AwaitPath("/account/password")
	looks(t, tab, "must")
	tab.Fill("#f-password", good)
	tab.Fill("#f-again", good)
	tab.Click("main form button")
	tab.Await("Your password was changed.")
	tab.Fill("#f-name", "laptop")
	tab.Press("Issue it")
	tab.Await("Copy it now")
	looks(t, tab, "token")
	_, in, err := w.service.ByToken(t.Context(), secretOf(t, tab.Text("pre")))
	require.NoError(t, err)
	require.Equal(t, "ann", in.User.Handle)
	tab.Press("I have it")
	tab.AwaitPath("/account")
	tab.Press("Revoke")
	tab.Await("Revoke token laptop?")
	tab.Click("dialog button.danger")
	tab.Await("The token was revoked.")
	tab.Press("Deutsch")
	tab.Await("Abmelden")
	looks(t, tab, "konto")
	tab.Press("Abmelden")
	tab.AwaitPath("/sign-in")
	tab.Await("Sie sind abgemeldet.")
}

// The browser itself keeps to the policy that lets the provider's page be reached, and
// brings the session back from another site.
func TestAProviderInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w, at := served(t)
	tab := driven.Start(t).Tab(t)
	tab.Goto(at + "/sign-in?next=/account")
	tab.Press("Sign in with School of Droving")
	tab.AwaitPath("/account")
	tab.Await("Ann Lee")
	ids, err := w.store.Identities(t.Context(), "ann")
	require.NoError(t, err)
	require.Len(t, ids, 1)
	require.Equal(t, "4711", ids[0].Subject)
}
