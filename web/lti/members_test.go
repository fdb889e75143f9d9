package lti_test

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes/lti/ltitest"
	"drover/core/school"
)

const roster = "/classes/cs101/platform"

// listed is a fixture whose platform says who is in the course, and tess's browser.
func listed(t *testing.T) (*fixture, *browser) {
	t.Helper()
	w := newFixture(t)
	b := w.connected()
	w.known()
	leads(t, b.come("tess", "Instructor", func(c map[string]any) {
		c[ltitest.People] = map[string]any{"context_memberships_url": w.platform.Members(), "service_versions": []string{"2.0"}}
	}))
	w.platform.Enrol(
		ltitest.Member("tess", "Tess", "tess@school.example", "Instructor"),
		ltitest.Member("ann-there", "Ann", "ANN@school.example", ltitest.Role+"Learner"),
		ltitest.Member("sue", "Sue Süß", "", "Learner"),
		ltitest.Member("tom", "Tom", "tom@school.example", "http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant"),
		ltitest.Member("mia", "Mia <b>", "mia@school.example", ltitest.Role+"Mentor"),
	)
	return w, b
}

// compare presses the button of the course.
func (b *browser) compare() *httptest.ResponseRecorder {
	b.t.Helper()
	course := regexp.MustCompile(`name="course" value="([^"]*)"`).FindStringSubmatch(b.get(roster).Body.String())
	require.NotNil(b.t, course)
	return b.post(roster+"/members", url.Values{"course": {course[1]}})
}

// taking is the form that a comparison offers.
func taking(t *testing.T, rec *httptest.ResponseRecorder) url.Values {
	t.Helper()
	require.Equal(t, http.StatusOK, rec.Code, said(rec))
	found := regexp.MustCompile(`(?s)name="course" value="([^"]*)">\s*<input type="hidden" name="seen" value="([^"]*)"`).FindStringSubmatch(rec.Body.String())
	require.NotNil(t, found, said(rec))
	return url.Values{"course": {found[1]}, "seen": {found[2]}}
}

// plain is the text of a page's main part.
func plain(rec *httptest.ResponseRecorder) string {
	return html.UnescapeString(strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(said(rec), " ")), " "))
}

// The course's list is read by page, compared, imported and undone; nobody is removed or lowered by it.
func TestMembersAreImported(t *testing.T) {
	t.Parallel()
	w, b := listed(t)
	shown := b.compare()
	require.Contains(t, plain(shown), "To enrol 3 (2 of them new users) To change 0 Already a member 1 Not in the course any more 0")
	require.Contains(t, plain(shown), "Not imported Their role in the course is none of a class, or the platform does not let them in. Mia <b>")
	require.Empty(t, w.role("ann"), "nothing is changed yet")
	form := taking(t, shown)
	path, _ := leads(t, b.post(roster+"/members", form))
	require.Equal(t, roster, path)
	require.Contains(t, b.get(roster).Body.String(), "3 people were enrolled or changed.")
	require.Equal(t, core.RoleStudent, w.role("ann"), "known by the address")
	require.Equal(t, core.RoleStudent, w.role("sue-suess"))
	require.Equal(t, core.RoleAssistant, w.role("tom"))
	require.Equal(t, core.RoleTeacher, w.role("tess"))
	require.Empty(t, w.role("mia"))
	require.Contains(t, plain(b.compare()), "The class has everybody.")

	leads(t, w.browser().come("sue", "Learner", func(c map[string]any) { c["email"] = "" }))
	_, err := w.store.GetUser(t.Context(), "name-of-sue")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "the launch finds the user that was made")

	w.platform.Enrol(ltitest.Member("tess", "Tess", "", "Learner"), ltitest.Member("tom", "Tom", "", "Learner"))
	shown = b.compare()
	require.Contains(t, plain(shown), "To enrol 0 To change 0 Already a member 2 Not in the course any more 1")
	require.Contains(t, shown.Body.String(), `name="member" value="sue-suess"`, "only who came from the course is missed")
	require.Equal(t, core.RoleTeacher, w.role("tess"), "no role is lowered")

	require.Contains(t, b.get(roster).Body.String(), `action="`+roster+`/undo"`)
	path, _ = leads(t, b.post(roster+"/undo", nil))
	require.Equal(t, roster, path)
	require.Contains(t, b.get(roster).Body.String(), "The import is undone: 3 dropped")
	require.NotContains(t, b.get(roster).Body.String(), "/undo")
	require.Contains(t, plain(b.post(roster+"/undo", nil)), "The last import is undone already.")
	require.Empty(t, w.role("ann"))
	require.Empty(t, w.role("tom"))
}

// A list that changed since it was seen is shown again.
func TestMembersAreImportedAsSeen(t *testing.T) {
	t.Parallel()
	w, b := listed(t)
	form := taking(t, b.compare())
	w.platform.Enrol(ltitest.Member("eve", "Eve", "eve@school.example", "Learner"))
	rec := b.post(roster+"/members", form)
	require.Equal(t, http.StatusUnprocessableEntity, rec.Code)
	require.Contains(t, rec.Body.String(), "look at the changes again")
	require.Empty(t, w.role("eve"))
	form.Set("course", strings.Repeat("0", 40))
	require.Equal(t, http.StatusNotFound, b.post(roster+"/members", form).Code)
}

// A user that was made and undone is not taken for somebody who has the handle later.
func TestMembersThatWereUndone(t *testing.T) {
	t.Parallel()
	w, b := listed(t)
	leads(t, b.post(roster+"/members", taking(t, b.compare())))
	require.NoError(t, w.lti.Classes.Drop(t.Context(), root, "cs101", "sue-suess"))
	require.NoError(t, w.lti.Classes.DeleteUser(t.Context(), root, "sue-suess"))
	another, err := w.lti.Classes.CreateUser(t.Context(), root, school.User{Handle: "sue-suess"})
	require.NoError(t, err)
	another.Created += 1000
	_, err = w.store.PutUser(t.Context(), another)
	require.NoError(t, err)
	leads(t, w.browser().come("sue", "Learner", func(c map[string]any) { c["email"] = "" }))
	require.Empty(t, w.role("sue-suess"))
	require.Equal(t, core.RoleStudent, w.role("name-of-sue"))
}

// What a platform answers is bounded, of this course and of this platform; what it does not say is told.
func TestMembersRefusals(t *testing.T) {
	t.Parallel()
	w, b := listed(t)
	for name, test := range map[string]struct {
		bend func(http.Header, map[string]any)
		says string
	}{
		"another course": {func(_ http.Header, a map[string]any) { a["context"] = map[string]any{"id": "course-2"} }, "not of \"course-1\""},
		"no list":        {func(_ http.Header, a map[string]any) { delete(a, "members") }, "does not answer with a list"},
		"another site":   {func(h http.Header, _ map[string]any) { h.Set("Link", `<https://evil.example/next>; rel="next"`) }, "goes on at another site"},
		"without end":    {func(h http.Header, _ map[string]any) { h.Set("Link", `<?from=0>; rel=next`) }, "more than 200 pages"},
		"too long":       {func(_ http.Header, a map[string]any) { a["x"] = strings.Repeat("x", 9<<20) }, "too long"},
	} {
		w.lti.Limits = unlimited{w.redis.Open(t)}
		w.platform.Bend(test.bend)
		rec := b.compare()
		require.Equal(t, http.StatusUnprocessableEntity, rec.Code, name)
		require.Contains(t, plain(rec), test.says, name)
	}
	w.platform.Bend(nil)
	require.Equal(t, http.StatusNotFound, w.stranger().get(roster).Code)
	p, err := w.lti.Platform(t.Context(), root, "moodle")
	require.NoError(t, err)
	p.TokenURL = ""
	_, err = w.lti.PutPlatform(t.Context(), root, p)
	require.NoError(t, err)
	require.Contains(t, plain(b.compare()), "has not said where its list of the course is")
}

// stranger is a browser of somebody who is in no class.
func (w *fixture) stranger() *browser {
	w.t.Helper()
	b := w.browser()
	if _, err := w.store.GetUser(w.t.Context(), "nick"); err != nil {
		_, err := w.store.PutUser(w.t.Context(), school.User{Handle: "nick"})
		require.NoError(w.t, err)
		w.password("nick")
	}
	leads(w.t, b.post("/sign-in", url.Values{"user": {"nick"}, "password": {"three blind mice"}}))
	return b
}
