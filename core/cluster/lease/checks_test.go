package lease_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/core/webhook"
)

var soon = webhook.Times{Connect: time.Minute, Answer: time.Minute}

func TestAServiceOutsideDecides(t *testing.T) {
	t.Parallel()
	var asked []string
	status, answer := 204, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var said struct {
			User        string
			Lease, Next *core.Lease
		}
		if json.Unmarshal(body, &said) != nil || said.Lease == nil || r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		asked = append(asked, r.Method+" "+r.URL.Path+" "+said.User)
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	s := newSite(t)
	to := webhook.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	s.Checks = &lease.Checks{URL: server.URL + "/leases/", Token: "secret", Client: to.Client("http", soon, nil, nil)}
	l, err := s.Create(t.Context(), operator, s.draft(1, 1, 2))
	require.NoError(t, err)
	_, err = s.Update(t.Context(), operator, l.ID, lease.Change{Name: ptr("x")})
	require.NoError(t, err)
	require.NoError(t, s.Checks.Ended(t.Context(), l))
	require.Equal(t, []string{"POST /leases/check-create olga", "POST /leases/check-update olga", "POST /leases/on-end "}, asked)

	for _, one := range []struct {
		status int
		answer string
		code   core.Code
		says   string
	}{
		{403, `{"message": "no budget\u0007 left"}`, core.CodeForbidden, "no budget left"},
		{403, "<html>", core.CodeForbidden, "refuses this one"},
		{403, `{"message": "` + strings.Repeat("x", 3000) + `"}`, core.CodeForbidden, "x…"},
		{200, "", core.CodeUnavailable, "200 OK"},
		{307, "", core.CodeUnavailable, "307"},
		{500, "", core.CodeUnavailable, "500"},
	} {
		status, answer = one.status, one.answer
		_, err := s.Create(t.Context(), operator, s.draft(1, 1, 2))
		requireCode(t, one.code, err)
		require.ErrorContains(t, err, one.says)
		require.Less(t, len(err.Error()), 500)
		_, err = s.Update(t.Context(), operator, l.ID, lease.Change{Name: ptr("y")})
		requireCode(t, one.code, err)
	}
	require.Len(t, s.leases, 1)
	require.Equal(t, "x", s.leases[l.ID].Name)

	s.Checks.Token = "wrong"
	_, err = s.Create(t.Context(), operator, s.draft(1, 1, 2))
	requireCode(t, core.CodeUnavailable, err)

	s.Checks.Client = webhook.Addresses{}.Client("http", soon, nil, nil)
	count := len(asked)
	_, err = s.Create(t.Context(), operator, s.draft(1, 1, 2))
	requireCode(t, core.CodeUnavailable, err)
	require.NotContains(t, err.Error(), "127.0.0.1")
	require.Len(t, asked, count, "private addresses are not asked unless they are allowed")
}
