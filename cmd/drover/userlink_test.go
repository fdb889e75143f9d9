package main

import (
	"encoding/csv"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core/account"
)

// linksOnASite are sign-in links, of the cluster and of the site: both are the site's own.
func linksOnASite(h *testCluster, s *testSite) {
	h.t.Helper()
	t, ctx := h.t, h.t.Context()
	for _, line := range []string{"user add --role admin lena", "user add --name =Out cat", "class enrol cs101 cat", "user add gone", "class enrol cs101 gone", "user disable gone"} {
		h.said(strings.Fields(line)...)
	}
	listens := h.cfg.Listen
	h.cfg.Listen = "" // as of a command that knows the cluster and not how its site was started
	defer func() { h.cfg.Listen = listens }()
	await(t, "the site has told its address", func() bool {
		at, err := h.cluster.SiteOfCluster(ctx, t.Output())
		return err == nil && at.String() == s.url
	})
	good := func(link string) {
		t.Helper()
		require.True(t, strings.HasPrefix(link, s.url+"/sign-in/link?token=drl_"), link)
		u, err := url.Parse(link)
		require.NoError(t, err)
		require.NoError(t, s.site.Accounts.LookAtLink(ctx, u.Query().Get("token")))
	}
	good(strings.TrimSpace(h.said("user", "link", "ann")))
	s.refused(terminal.ExitRefused, "may not", "user", "link", "ann")
	s.login("lena")
	good(strings.TrimSpace(s.said("user", "link", "ann")))
	for _, said := range []string{
		h.said("user", "link", "--class", "cs101", "--role", "student", "--days", "14"),
		s.said("user", "link", "--class", "cs101", "--role", "student", "--days", "14"),
	} {
		rows, err := csv.NewReader(strings.NewReader(said)).ReadAll()
		require.NoError(t, err)
		require.Len(t, rows, 3, "neither tom, who teaches, nor gone: %s", said)
		require.Equal(t, []string{"name", "email", "handle", "link", "expires"}, rows[0])
		require.Equal(t, []string{"", "", "ann"}, rows[1][:3])
		require.Equal(t, []string{"'=Out", "", "cat"}, rows[2][:3])
		for _, row := range rows[1:] {
			good(row[3])
			expires, err := time.Parse(time.RFC3339, row[4])
			require.NoError(t, err)
			require.Greater(t, time.Until(expires), 13*24*time.Hour)
		}
	}
	require.Len(t, jsonOf[[]account.Link](h, "user", "link", "--class", "cs101"), 3)
	for _, refused := range []struct{ args, want string }{
		{"user link --days 31 ann", "use 1 to 30"},
		{"user link --days 0 ann", "use 1 to 30"},
		{"user link --role student ann", "--role goes with --class"},
		{"user link --class cs101 --role admin", "none in a class"},
		{"user link --class cs101 ann", "takes no argument"},
		{"user link", "--class CLASS"},
	} {
		h.refused(terminal.ExitUsage, refused.want, strings.Fields(refused.args)...)
	}
	s.login("tom")
	invitationsOnASite(h, s, good)
}

// invitationsOnASite are invitations by a host's operator, who is no user, and by the teacher of the class.
func invitationsOnASite(h *testCluster, s *testSite, good func(link string)) {
	h.t.Helper()
	t := h.t
	for _, line := range []string{"class add inv", "class enrol --role teacher inv tom", "user add --name =Ida ida", "user add ivo", "class enrol inv ida ivo"} {
		h.said(strings.Fields(line)...)
	}
	rows, err := csv.NewReader(strings.NewReader(h.said("class", "invite", "--csv", "--days", "60", "inv"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	require.Equal(t, []string{"name", "email", "handle", "link", "expires"}, rows[0])
	require.Equal(t, []string{"'=Ida", "", "ida"}, rows[1][:3])
	good(rows[1][3])
	require.Empty(t, h.said("class", "invite", "inv"), "both have one")
	handle, link, _ := strings.Cut(strings.TrimSpace(s.said("class", "invite", "inv", "ivo")), "\t")
	require.Equal(t, "ivo", handle)
	good(link)
	u, err := url.Parse(rows[2][3])
	require.NoError(t, err)
	require.Error(t, s.site.Accounts.LookAtLink(t.Context(), u.Query().Get("token")), "it was made anew")
	s.refused(terminal.ExitNotFound, "no student", "class", "invite", "inv", "tom")
	for _, refused := range []struct{ args, want string }{
		{"class invite --days 61 inv", "use 1 to 60"}, {"class invite", "takes the class"}, {"class invite --csv --json inv", "exclude"},
	} {
		h.refused(terminal.ExitUsage, refused.want, strings.Fields(refused.args)...)
	}
}

func TestWhichSiteALinkLeadsTo(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		told map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"a": "no address", "b": ""}, ""},
		{map[string]string{"a": "http://10.0.0.1:8080", "h1": "http://127.0.0.1:8081"}, "http://127.0.0.1:8081"},
		{map[string]string{"a": "http://127.0.0.1:8080", "b": "http://localhost:8080", "c": "http://10.0.0.1:8080"}, "http://10.0.0.1:8080"},
		{map[string]string{"b": "https://b.example.org", "a": "https://a.example.org"}, "https://a.example.org"},
	} {
		at := access.BestSite(test.told, "h1")
		if test.want == "" {
			require.Nil(t, at)
			continue
		}
		require.Equal(t, test.want, at.String())
	}
}
