package sign_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/account/secrets"
)

// tray keeps the tasks that would send mail.
type tray struct{ tasks []core.Task }

func (m *tray) SubmitTask(_ context.Context, t core.Task) (core.Task, bool, error) {
	m.tasks = append(m.tasks, t)
	return t, true, nil
}

func TestHelpWithSigningIn(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "https://drover.example.org", nil)
	b := w.browser()
	b.shows(b.get("/sign-in"), `href="/sign-in/help"`)
	require.NotContains(t, b.shows(b.get("/sign-in/help"), "This site sends no mail."), "<form method=\"post\" action=\"/sign-in/help\"")
	require.Equal(t, http.StatusServiceUnavailable, b.post("/sign-in/help", "user", "ann").Code)

	mails := &tray{}
	w.service.Mail = mails
	b.header["Accept-Language"] = "de"
	b.shows(b.get("/sign-in/help"), `name="user"`)
	known, unknown := b.post("/sign-in/help", "user", "ann"), b.post("/sign-in/help", "user", "nobody")
	b.goes(known, "/sign-in/help?sent")
	require.Equal(t, known.Text, unknown.Text)
	require.Equal(t, known.Header, unknown.Header)
	require.Len(t, mails.tasks, 2)
	require.JSONEq(t, `{"digest":"`+secrets.Hash("ann")+`","site":"https://drover.example.org","language":"de"}`, string(mails.tasks[0].Args))
	b.shows(b.get("/sign-in/help?sent"), `role="status"`)
	var last answer
	for range 40 {
		last = b.post("/sign-in/help", "user", "x")
	}
	require.NotEqual(t, http.StatusSeeOther, last.Code, "too many from one address")
}
