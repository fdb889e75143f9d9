package staff_test

import (
	"encoding/base64"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account"
	"drover/core/school"
)

const invitations = "/classes/cs101/invitations"

// accounts is the service that redeems links.
func (w *fixture) accounts() *account.Service {
	return &account.Service{Store: w.reg.Store.(school.ResultStore)}
}

// secrets are those of the links on a sheet, in order of handle.
func secrets(text string) []string {
	var all []string
	for _, found := range regexp.MustCompile(`<code>https://drover\.example\.org/sign-in/link\?token=(drl_\w+)</code>`).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

func TestInvitations(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	text := w.shows("tess", invitations)
	require.Equal(t, 2, strings.Count(text, "not invited"), "ann and cleo, and no staff")
	require.NotContains(t, text, "TINA")
	again(t, w.post("tess", invitations, "do", "some"), "Tick whom you mean")
	for _, days := range []string{"0", "61", "x", "-1"} {
		text = again(t, w.post("tess", invitations, "do", "some", "student", "ann", "days", days), "from 1 to 60")
		require.Contains(t, text, `value="ann" aria-label="ANN" checked`)
		require.Contains(t, text, `value="`+days+`"`)
		require.Contains(t, text, `aria-invalid="true"`)
	}
	again(t, w.post("tess", invitations, "do", "some", "student", "eve"), "no student of class cs101")
	again(t, w.post("tess", invitations, "do", "some", "student", "tina"), "no student of class cs101")
	require.Equal(t, 2, strings.Count(w.shows("tess", invitations), "not invited"), "nothing was made")

	rec := w.post("tess", invitations, "do", "all", "days", "60")
	require.Equal(t, http.StatusOK, rec.Code)
	require.Equal(t, "no-store", rec.Header().Get("Cache-Control"))
	sheet := rec.Body.String()
	links := secrets(sheet)
	require.Len(t, links, 2)
	require.Equal(t, 2, strings.Count(sheet, `role="img"`), "a code each")
	text = w.shows("tess", invitations)
	require.Equal(t, 2, strings.Count(text, `badge calm">invited`))
	for _, link := range links {
		require.NotContains(t, text, link, "shown only once")
	}
	require.Equal(t, invitations, leads(t, w.post("tess", invitations, "do", "all")), "all have one")

	leads(t, w.post("tess", invitations, "do", "withdraw", "student", "cleo"))
	require.Equal(t, 1, strings.Count(w.shows("tess", invitations), "not invited"))
	require.Error(t, w.accounts().LookAtLink(t.Context(), links[1]))
	require.Contains(t, w.shows("tess", "/classes/cs101/audit"), "invites ann until")
}

// The file has what the sheet has.
func TestInvitationsAsAFile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ann, err := w.reg.Store.GetUser(t.Context(), "ann")
	require.NoError(t, err)
	ann.Name = "=1+1"
	_, err = w.reg.Store.PutUser(t.Context(), ann)
	require.NoError(t, err)
	sheet := w.post("tess", invitations, "do", "some", "student", "ann").Body.String()
	found := regexp.MustCompile(`href="data:text/csv;charset=utf-8;base64,([^"]+)" download="invitations-cs101\.csv"`).FindStringSubmatch(sheet)
	require.Len(t, found, 2, sheet)
	encoded, err := url.PathUnescape(html.UnescapeString(found[1]))
	require.NoError(t, err)
	file, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(t, err)
	require.Equal(t, "name,email,handle,link,expires\n'=1+1,ann@example.org,ann,https://drover.example.org/sign-in/link?token="+
		secrets(sheet)[0]+",2023-11-28T22:13:20Z\n", string(file))
}

func TestOnlyTeachersInvite(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	require.NotContains(t, w.shows("tina", "/classes/cs101/roster"), invitations)
	require.Contains(t, w.shows("tess", "/classes/cs101/roster"), invitations)
	require.Equal(t, http.StatusForbidden, w.post("tina", invitations, "do", "all").Code)
	require.Equal(t, http.StatusNotFound, w.post("theo", invitations, "do", "all").Code)
	require.NoError(t, w.reg.Store.Enrol(t.Context(), school.Enrolment{Class: "cs202", User: "cleo", Role: core.RoleAssistant}))
	again(t, w.post("tess", invitations, "do", "some", "student", "cleo"), "teaches a class")
	require.Len(t, secrets(w.post("tess", invitations, "do", "all").Body.String()), 1, "ann's")
}

// Invitations are mailed by a task to which the page leads.
func TestInvitationsByMail(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	require.Contains(t, w.shows("tess", invitations), "Mail to all who never signed in")
	at := leads(t, w.post("tess", invitations, "do", "mail-some", "student", "ann", "days", "3"))
	require.Regexp(t, `^/tasks/`, at)
	tasks, err := w.reg.Store.ListTasks(t.Context(), core.TaskFilter{Kind: school.KindInviteMail})
	require.NoError(t, err)
	require.Len(t, tasks, 1)
	require.JSONEq(t, `{"class":"cs101","users":"ann","life_ns":259200000000000,"site":"https://drover.example.org","language":"en"}`, string(tasks[0].Args))
	require.Equal(t, http.StatusForbidden, w.post("tina", invitations, "do", "mail-all").Code)
	cleo, err := w.reg.Store.GetUser(t.Context(), "cleo")
	require.NoError(t, err)
	cleo.Email = ""
	_, err = w.reg.Store.PutUser(t.Context(), cleo)
	require.NoError(t, err)
	again(t, w.post("tess", invitations, "do", "mail-some", "student", "cleo"), "has no e-mail address")
}
