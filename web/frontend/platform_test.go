package frontend_test

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/stretchr/testify/require"

	"drover/core/school"
)

// platform makes a learning platform, and returns its path.
func platform(w *fixture) string {
	w.t.Helper()
	id := w.next("platform")
	_, err := w.deps.LTI.PutPlatform(w.t.Context(), w.as("root"), school.LTIPlatform{
		ID: id, Name: id, Issuer: "https://" + id + ".example", Client: "1", AuthURL: "https://" + id + ".example/auth", KeysURL: "https://" + id + ".example/jwks",
	})
	require.NoError(w.t, err)
	return "/lti/platforms/" + id
}

// platformLogin is a login that a learning platform begins.
func platformLogin(w *fixture) url.Values {
	id := platform(w)[len("/lti/platforms/"):]
	return url.Values{"iss": {"https://" + id + ".example"}, "login_hint": {"h"}, "target_link_uri": {at + "/lti/launch"}, "client_id": {"1"}}
}

func platformForm(id, revision string) form {
	return form{
		"id", id, "name", id, "issuer", "https://" + id + ".example", "client", "1", "auth", "https://" + id + ".example/auth", "keys", "https://" + id + ".example/jwks", "revision", revision,
	}
}

// platformSamples are of pages of learning platforms. Without what a platform or this site signed everybody is refused.
func platformSamples() map[string]sample {
	refused := sample{is: http.StatusForbidden, same: true}
	register := sample{path: about("/lti/register/dro_lti_", func(w *fixture) string { return w.next("x") }, ""), is: http.StatusForbidden, same: true}
	return map[string]sample{
		"GET /lti/login": {path: func(w *fixture, _ string) string { return "/lti/login?" + platformLogin(w).Encode() }, is: http.StatusSeeOther, same: true},
		"POST /lti/login": {form: func(w *fixture, _ string) form {
			var f form
			for name, value := range platformLogin(w) {
				f = append(f, name, value[0])
			}
			return f
		}},
		"POST /lti/launch": refused, "GET /lti/deep": refused, "POST /lti/deep": refused,
		"GET /lti/tie": refused, "POST /lti/tie": refused, "GET /lti/connect": refused, "POST /lti/connect": refused, "GET /lti/link": refused, "POST /lti/link": refused,
		"GET /lti/register/{secret}": register, "POST /lti/register/{secret}": register,
		"POST /lti/registrations":                {is: http.StatusOK},
		"POST /lti/platforms":                    {form: func(w *fixture, _ string) form { return platformForm(w.next("new"), "0") }},
		"GET /lti/platforms/{platform}":          {path: about("", platform, "")},
		"POST /lti/platforms/{platform}":         {path: about("", platform, ""), form: func(w *fixture, _ string) form { return platformForm(fmt.Sprintf("platform-%d", w.n), "1") }},
		"POST /lti/platforms/{platform}/remove":  {path: about("", platform, "/remove")},
		"POST /classes/{class}/platform/members": {form: says("course", "none"), is: http.StatusNotFound},
		"POST /classes/{class}/platform/undo":    {form: imported},
		"POST /classes/{class}/platform/scores":  {form: says("link", "none"), is: http.StatusNotFound},
	}
}
