package lti_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
)

func platformForm() url.Values {
	return url.Values{
		"id": {"canvas"}, "name": {"Canvas"}, "issuer": {"https://canvas.example"}, "client": {"1"}, "auth": {"https://canvas.example/auth"},
		"keys": {"https://canvas.example/jwks"}, "token": {"https://canvas.example/token"}, "deployments": {"a\nb"}, "new_classes": {"yes"},
	}
}

// Admins add, change and remove platforms; nobody else sees them.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.browser()
	w.password("root")
	leads(t, b.post("/sign-in", url.Values{"user": {"root"}, "password": {"three blind mice"}}))
	require.Contains(t, b.get("/users").Body.String(), `href="/lti/platforms"`)
	shown := b.get("/lti/platforms").Body.String()
	require.Contains(t, shown, "Moodle of the school")
	require.Contains(t, shown, site+"/lti/login")
	require.Contains(t, shown, "<code>"+site+"/lti/deep</code>")
	require.Contains(t, shown, "canvas.instructure.com")
	leads(t, b.post("/lti/platforms", platformForm()))
	p, err := w.lti.Platform(t.Context(), root, "canvas")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, p.Deployments)
	require.True(t, p.NewClasses)

	form := platformForm()
	form.Set("name", "Canvas 2")
	form.Set("revision", "1")
	leads(t, b.post("/lti/platforms/canvas", form))
	require.Equal(t, http.StatusUnprocessableEntity, b.post("/lti/platforms/canvas", form).Code, "somebody else changed it")
	require.Contains(t, b.get("/lti/platforms/canvas").Body.String(), "Canvas 2")
	leads(t, b.post("/lti/platforms/canvas/remove", nil))
	require.Equal(t, http.StatusNotFound, b.get("/lti/platforms/canvas").Code)

	w.password("tess")
	tess := w.browser()
	leads(t, tess.post("/sign-in", url.Values{"user": {"tess"}, "password": {"three blind mice"}}))
	require.Equal(t, http.StatusForbidden, tess.get("/lti/platforms").Code)
	require.Equal(t, http.StatusForbidden, tess.post("/lti/platforms", platformForm()).Code)
	require.Equal(t, http.StatusForbidden, tess.get("/lti/platforms/moodle").Code)
	require.Equal(t, http.StatusForbidden, tess.post("/lti/platforms/moodle", platformForm()).Code)
	require.Equal(t, http.StatusForbidden, tess.post("/lti/platforms/moodle/remove", nil).Code)
	require.Equal(t, http.StatusForbidden, tess.ask(http.MethodPost, "/lti/platforms", platformForm(), "cross-site").Code)
}

// A platform that is not well described is refused, with what was typed.
func TestPlatformRefusals(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := w.browser()
	w.password("root")
	leads(t, b.post("/sign-in", url.Values{"user": {"root"}, "password": {"three blind mice"}}))
	for name, change := range map[string]url.Values{
		"no handle": {"id": {""}}, "no name": {"name": {""}}, "no issuer": {"issuer": {"canvas"}}, "no client": {"client": {""}},
		"a secret address": {"keys": {"https://10.0.0.1/jwks"}}, "another scheme": {"auth": {"javascript:alert(1)"}},
		"a policy": {"auth": {"https://a.example;x"}}, "a long issuer": {"issuer": {"https://a.example/" + strings.Repeat("x", 1000)}},
		"twice": {"deployments": {"a a"}}, "known": {"issuer": {"https://moodle.school.example"}, "client": {"client-1"}},
	} {
		form := platformForm()
		for field, value := range change {
			form[field] = value
		}
		rec := b.post("/lti/platforms", form)
		require.Equal(t, http.StatusUnprocessableEntity, rec.Code, name)
		require.Contains(t, rec.Body.String(), `value="https://canvas.example/token"`, name)
	}
	_, err := w.lti.Platform(t.Context(), root, "canvas")
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
}
