package calendar_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/lease"
	"drover/web/calendar"
	"drover/web/page"
)

// now is a Wednesday.
var now = time.Date(2026, 12, 2, 13, 5, 0, 0, time.UTC)

// asked is what a page does with an address. It returns the page's HTML.
func asked(t *testing.T, query string, serve func(r *page.Request) (*calendar.Calendar, error)) (html string, status int) {
	t.Helper()
	site, err := page.New(page.Config{Name: "Test", Now: func() time.Time { return now }}, page.Section{
		Name: "some", Pages: fstest.MapFS{"pages/all.html": {Data: []byte(`{{define "title"}}x{{end}}{{define "main"}}{{template "calendar" .Data}}{{end}}`)}},
		Routes: []page.Route{{Pattern: "GET /", Public: true, Serve: func(r *page.Request) error {
			c, err := serve(r)
			if err != nil {
				return err
			}
			return r.Render("some/all", c)
		}}},
	})
	require.NoError(t, err)
	rec := httptest.NewRecorder()
	site.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/?"+query, nil))
	return rec.Body.String(), rec.Code
}

// window is the one that an address names.
func window(t *testing.T, query string) (w calendar.Window, status int) {
	t.Helper()
	_, status = asked(t, query, func(r *page.Request) (*calendar.Calendar, error) {
		var err error
		w, err = calendar.Chosen(r)
		return calendar.Draw(r, &lease.View{}, w, "/x", nil), err
	})
	return w, status
}

func TestWindows(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][2]string{
		"":                            {"2026-11-30", "2026-12-07"}, // from Monday
		"span=day":                    {"2026-12-02", "2026-12-03"},
		"span=4weeks":                 {"2026-11-30", "2026-12-28"},
		"span=odd":                    {"2026-11-30", "2026-12-07"},
		"from=2024-02-28&span=day":    {"2024-02-28", "2024-02-29"},
		"from=2026-12-05&span=4weeks": {"2026-12-05", "2027-01-02"},
	} {
		w, status := window(t, query)
		require.Equal(t, http.StatusOK, status, query)
		require.Equal(t, want, [2]string{time.UnixMilli(w.From()).UTC().Format(page.Day), time.UnixMilli(w.To()).UTC().Format(page.Day)}, query)
	}
	for _, query := range []string{"from=soon", "from=0001-01-01", "from=9999-01-01", "from=2026-02-30"} {
		_, status := window(t, query)
		require.Equal(t, http.StatusUnprocessableEntity, status, query)
	}
}

// random is a view of a time in which anything overlaps anything, also beyond its ends.
func random(from, to int64) lease.View {
	v := lease.View{From: from, To: to, Now: from + rand.Int64N(2*(to-from)) - (to-from)/2}
	states := []core.LeaseState{core.LeasePending, core.LeaseActive, core.LeaseTerminated, core.LeaseDeleting, core.LeaseError}
	for h := range 1 + rand.IntN(4) {
		host := lease.HostView{Name: "h" + string(rune('1'+h))}
		for range rand.IntN(12) {
			begin := from + rand.Int64N(2*(to-from)) - (to-from)/2
			b := lease.Block{From: begin, To: begin + 1 + rand.Int64N(to-from), Units: 1 + rand.IntN(9), Whole: rand.IntN(4) == 0}
			b.Lease, b.Name = "l"+string(rune('a'+rand.IntN(26))), "<b>"
			v.Leases = append(v.Leases, core.Lease{ID: b.Lease, Name: b.Name, State: states[rand.IntN(len(states))]})
			host.Blocks = append(host.Blocks, b)
		}
		v.Hosts = append(v.Hosts, host)
	}
	cut := from + rand.Int64N(to-from)
	v.Free = []lease.Stretch{{From: from, To: cut, Units: rand.IntN(9)}, {From: cut, To: to, Units: rand.IntN(9)}}
	return v
}

// Whatever overlaps, no bar hides another one, none leaves the picture, and what is free has no gap.
func TestBarsOfAnyCalendar(t *testing.T) {
	t.Parallel()
	for range 100 {
		var c *calendar.Calendar
		var v lease.View
		html, status := asked(t, "of=p1", func(r *page.Request) (*calendar.Calendar, error) {
			w, err := calendar.Chosen(r)
			v = random(w.From(), w.To())
			c = calendar.Draw(r, &v, w, "/x", []string{"p1"})
			return c, err
		})
		require.Equal(t, http.StatusOK, status, html)
		require.NotContains(t, html, "<b>")
		for i, row := range c.Rows {
			require.Len(t, row.Bars, len(v.Hosts[i].Blocks))
			for n, a := range row.Bars {
				require.GreaterOrEqual(t, a.X, 0.0)
				require.LessOrEqual(t, a.X+a.W, 100.001)
				require.Less(t, a.Y, row.Height)
				for m, b := range row.Bars[:n] {
					one, other := v.Hosts[i].Blocks[n], v.Hosts[i].Blocks[m]
					require.False(t, a.Y == b.Y && one.From < other.To && other.From < one.To, "two bars are at the same place")
				}
			}
		}
		end := 0.0
		for _, s := range c.Free {
			require.InDelta(t, end, s.X, 0.001)
			require.GreaterOrEqual(t, s.Y, 0.0)
			end = s.X + s.W
		}
		require.InDelta(t, 100, end, 0.001)
		require.Equal(t, v.Now >= v.From && v.Now < v.To, strings.Contains(html, `class="now"`))
	}
}

// The page of a large cluster is no longer than its part of the hosts, and what is reserved comes first.
func TestCalendarOfManyHosts(t *testing.T) {
	t.Parallel()
	draw := func(query string) (c *calendar.Calendar, html string) {
		html, status := asked(t, query, func(r *page.Request) (*calendar.Calendar, error) {
			w, err := calendar.Chosen(r)
			v := lease.View{Hosts: make([]lease.HostView, 5000)}
			for i := range v.Hosts {
				v.Hosts[i].Name = "host-" + strconv.Itoa(i)
			}
			v.Hosts[4321].Blocks = []lease.Block{{Lease: "l", From: w.From(), To: w.To(), Units: 1}}
			c = calendar.Draw(r, &v, w, "/x", nil)
			return c, err
		})
		require.Equal(t, http.StatusOK, status)
		return c, html
	}
	c, html := draw("")
	require.Less(t, len(html), 60_000)
	require.Equal(t, "host-4321", c.Rows[0].Host)
	require.Equal(t, 4900, c.More)
	_, query, _ := strings.Cut(c.Next, "?")
	c, _ = draw(query)
	require.Equal(t, "host-99", c.Rows[0].Host)
	for _, odd := range []string{"skip=-1", "skip=5000", "skip=x"} {
		c, _ = draw(odd)
		require.Equal(t, "host-4321", c.Rows[0].Host, odd)
	}
	c, _ = draw("skip=4950")
	require.Len(t, c.Rows, 50)
	require.Empty(t, c.Next)
}
