package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/cluster/lease"
	"drover/web/api"
	"drover/web/caller"
	"drover/web/leasetest"
	"drover/web/services"
)

// leaseSite is a site that has only leases, to which an operator is signed in.
type leaseSite struct {
	*testSite
	fake *leasetest.Fake
}

func newLeaseSite(t *testing.T) *leaseSite {
	t.Helper()
	fake := leasetest.New(time.Now)
	operations := api.New(services.Deps{Leases: fake})
	olga := &caller.Caller{Actor: core.Actor{Handle: "olga", Roles: []core.UserRole{core.RoleOperator}}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operations.ServeHTTP(w, r.WithContext(caller.With(r.Context(), olga)))
	}))
	return &leaseSite{loggedIn(t, server), fake}
}

// made runs a command that answers with a lease.
func (s *leaseSite) made(args ...string) (l core.Lease) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.said(append(args, "--json")...)), &l))
	return l
}

func TestLeaseByTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newLeaseSite(t)
	exam := []string{"--name", "exam", "--class", "cs101", "--start", "2999-12-01 14:00", "--for", "2h", "--units", "python=10"}
	require.Contains(t, s.said(append([]string{"lease", "preview"}, exam...)...), "10 of python")
	require.Contains(t, s.said("lease", "list"), "no leases: make one")
	l := s.made(append([]string{"lease", "create", "--submitter", "ann,bob", "--before-end", "30m", "--grace", "5m"}, exam...)...)
	start := time.Date(2999, 12, 1, 14, 0, 0, 0, time.UTC)
	require.Equal(t, []int64{start.UnixMilli(), start.Add(2 * time.Hour).UnixMilli()}, []int64{l.Start, l.End}, "in UTC")
	require.Equal(t, []string{"ann", "bob"}, l.Submitters)
	require.Equal(t, 30*time.Minute, l.BeforeEnd)

	s.refused(terminal.ExitRefused, "try a later start", append([]string{"lease", "create"}, append(exam, "--units", "c=15")...)...)
	shown := s.said("lease", "show", l.ID)
	for _, want := range []string{"exam", "pending", "2999-12-01 14:00 UTC", "class cs101, ann, bob", "h1", "h2", "before_end", "lease.created", "30m0s before its end"} {
		require.Contains(t, shown, want)
	}
	require.Contains(t, s.said("lease", "list", "--class", "cs101"), "10 of python")
	require.NotContains(t, s.said("lease", "list", "--class", "cs102"), "exam")

	l = s.made("lease", "update", "--units", "python=12 apart", "--units", "c=2", "--for", "3h", "--submitter", "", l.ID)
	require.Equal(t, []int{12, 2}, []int{l.Reservations[0].Units, l.Reservations[1].Units}, "the one that it has is changed, another one is added")
	require.Equal(t, core.AffinityFalse, l.Reservations[0].Affinity)
	require.Equal(t, start.Add(3*time.Hour).UnixMilli(), l.End)
	require.Empty(t, l.Submitters)
	require.Equal(t, "cs101", l.Class, "what is not named stays")
	s.refused(terminal.ExitUsage, "nothing is to be changed", "lease", "update", l.ID)

	l.State, l.Ended = core.LeaseTerminated, l.End
	s.fake.Put(l)
	require.NotContains(t, s.said("lease", "list"), "exam", "it is over")
	require.Contains(t, s.said("lease", "list", "--all"), "exam")
	require.Contains(t, s.said("lease", "delete", l.ID), "is deleted")
	s.refused(terminal.ExitNotFound, "no lease", "lease", "show", l.ID)
}

// What happened to a lease is said in words, and what others wrote moves no terminal.
func TestDegradedLeaseIsShown(t *testing.T) {
	t.Parallel()
	s := newLeaseSite(t)
	l := s.made("lease", "create", "--name", "a\x1b[2Jb", "--for", "1h", "--units", "python=9", "--units", "c=1")
	r := &l.Reservations[0]
	r.Allocations[0].State, r.Allocations[0].Why = core.AllocationLost, "host h1 is down"
	r.MissingResources, r.ResourcesChanged = true, true
	s.fake.Put(l)
	shown := s.said("lease", "show", l.ID)
	for _, want := range []string{"pending, degraded", "lost", "host h1 is down", "8 have no host", "some moved, or came back"} {
		require.Contains(t, shown, want)
	}
	listed := s.said("lease", "list")
	require.Contains(t, listed, "(has 1)")
	require.NotContains(t, shown+listed, "\x1b")
}

func TestReservationsAreReadAsTheyAreSaid(t *testing.T) {
	t.Parallel()
	s := newLeaseSite(t)
	for line, want := range map[string]lease.Want{
		"--units python=3": {Pools: []string{"python"}, Units: 3},
		"--units python=3|--affinity apart|--requires zone=a,x=b": {Pools: []string{"python"}, Units: 3, Affinity: core.AffinityFalse, Requires: "zone=a,x=b"},
		"--units python=3 together requires=zone=a,cores>=8":      {Pools: []string{"python"}, Units: 3, Affinity: core.AffinityTrue, Requires: "zone=a,cores>=8"},
		"--units python=3 affinity=false|--affinity true":         {Pools: []string{"python"}, Units: 3, Affinity: core.AffinityFalse},
		"--hosts 1-2|--pools python,c":                            {Pools: []string{"python", "c"}, MinHosts: 1, MaxHosts: 2},
		"--hosts 2|--pools c|--affinity any":                      {Pools: []string{"c"}, MinHosts: 2, MaxHosts: 2},
		"--hosts 1-3 pools=python,c requires=gpu=yes,zone!=b":     {Pools: []string{"python", "c"}, MinHosts: 1, MaxHosts: 3, Requires: "gpu=yes,zone!=b"},
	} {
		args := []string{"lease", "preview", "--name", "x", "--for", "1h"}
		for flag := range strings.SplitSeq(line, "|") {
			name, value, _ := strings.Cut(flag, " ")
			args = append(args, name, value)
		}
		r := s.made(args...).Reservations[0]
		require.Equal(t, want, lease.Want{Pools: r.Pools, Units: r.Units, Affinity: r.Affinity, MinHosts: r.MinHosts, MaxHosts: r.MaxHosts, Requires: r.Requires}, line)
	}
	for flags, want := range map[string][]string{
		"":                                                {"--name"},
		"--name x":                                        {"--for 2h"},
		"--name x|--for 1h":                               {"--units POOL=N"},
		"--name x|--for 1h|--end +2h":                     {"leave one of them out"},
		"--name x|--for 1h|--units py":                    {"POOL=N"},
		"--name x|--for 1h|--units py=0":                  {"POOL=N"},
		"--name x|--for 1h|--units ":                      {"empty"},
		"--name x|--for 1h|--units py=1 odd":              {"odd", "together or apart"},
		"--name x|--for 1h|--units py=1 pools=a":          {"not understood"},
		"--name x|--for 1h|--units py=1|--affinity near":  {"near"},
		"--name x|--for 1h|--hosts 2":                     {"--pools"},
		"--name x|--for 1h|--hosts 3-2|--pools a":         {"MIN-MAX"},
		"--name x|--end soon|--units py=1":                {"--end", "no time"},
		"--name x|--end none|--units py=1":                {"--end needs a time"},
		"--name x|--end +1h|--start +2h|--units py=1":     {"ends after it starts"},
		"--name x|--for 1h|--units py=1|--time-zone Mars": {"Mars"},
	} {
		args := []string{"lease", "create"}
		for flag := range strings.SplitSeq(flags, "|") {
			if name, value, ok := strings.Cut(flag, " "); ok {
				args = append(args, name, value)
			}
		}
		for _, text := range want {
			s.refused(terminal.ExitUsage, text, args...)
		}
	}
	require.Contains(t, s.said("lease", "list"), "no leases")
}

// A lease has no seconds, and may begin now.
func TestMomentsOfLeases(t *testing.T) {
	t.Parallel()
	s := newLeaseSite(t)
	before := time.Now().UnixMilli()
	l := s.made("lease", "create", "--name", "x", "--start", "now", "--for", "90m", "--units", "py=1")
	require.GreaterOrEqual(t, l.Start, before)
	require.Zero(t, l.End%60_000)
	require.GreaterOrEqual(t, l.End, before+90*60_000)
	l = s.made("lease", "create", "--name", "x", "--start", "+2h", "--end", "+1d", "--units", "py=1")
	require.Zero(t, l.Start%60_000)
	l = s.made("lease", "update", "--start", "2998-06-01 10:00", "--for", "2h", "--time-zone", "Europe/Berlin", l.ID)
	at := time.Date(2998, 6, 1, 8, 0, 0, 0, time.UTC).UnixMilli()
	require.Equal(t, []int64{at, at + 2*3600_000}, []int64{l.Start, l.End})
	require.Contains(t, s.said("lease", "show", "--time-zone", "Europe/Berlin", l.ID), "10:00 CEST")
}

func TestCalendarByTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newLeaseSite(t)
	s.fake.Hosts[2].Out = "it is down"
	at := time.Date(2999, 12, 1, 0, 0, 0, 0, time.UTC)
	s.fake.Due = []lease.Due{{At: at.Add(20 * time.Hour).UnixMilli(), Class: "cs101", Title: "cs101: Homework 1"}}
	s.made("lease", "create", "--name", "exam", "--start", "2999-12-01 12:00", "--for", "12h", "--units", "python=9")
	s.made("lease", "create", "--name", "whole", "--start", "2999-12-02 00:00", "--for", "6h", "--hosts", "1", "--pools", "c")
	out := s.said("lease", "calendar", "--from", "2999-12-01 09:00", "--days", "2", "--pool", "python")
	lines := strings.Split(out, "\n")
	require.Contains(t, lines[0], "SUN 1")
	require.Contains(t, lines[1], "h1")
	require.Contains(t, lines[1], strings.Repeat(".", 12)+strings.Repeat("8", 12)+strings.Repeat("#", 6)+strings.Repeat(".", 18))
	require.Contains(t, lines[2], strings.Repeat(".", 12)+strings.Repeat("1", 12)+strings.Repeat(".", 24))
	require.Contains(t, lines[3], "it is down")
	require.Contains(t, lines[4], strings.Repeat("+", 12)+strings.Repeat("7", 12)+strings.Repeat("8", 6)+strings.Repeat("+", 18))
	require.Contains(t, out, "cs101: Homework 1")
	require.Contains(t, out, "each column is 1h0m0s, in UTC")
	for _, line := range strings.Split(s.said("lease", "calendar", "--days", "28"), "\n")[:5] {
		require.LessOrEqual(t, len(line), 80, line)
	}
	s.refused(terminal.ExitUsage, "1 to 28", "lease", "calendar", "--days", "29")
	var v lease.View
	require.NoError(t, json.Unmarshal([]byte(s.said("lease", "calendar", "--json")), &v))
	require.Len(t, v.Hosts, 3)
}

// The words of a lease are found where people look for them.
func TestLeaseHelpHasAnExample(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	require.Zero(t, typeIn(context.WithoutCancel(t.Context()), []string{"drover", "lease", "create", "--help"}, strings.NewReader(""), &out, &errs), errs.String())
	for _, want := range []string{"--units POOL=N", "--hosts MIN-MAX", `--start "2026-12-01 14:00" --for 2h --units python=30`} {
		require.Contains(t, out.String(), want)
	}
}
