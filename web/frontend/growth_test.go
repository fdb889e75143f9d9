package frontend_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/api"
	"drover/web/caller"
)

// filters are what lists are asked for beside what a page or operation asks by itself: things of which there are few, or
// none, among many others.
var filters = map[string][]string{
	api.Prefix + "/requests": {
		"state=failed", "state=failed&state=dead", "state=dead&pool=" + pool, "state=failed&submitter=ann", "pool=" + pool, "submitter=nobody",
		"state=queued&pool=" + pool, "state=completed&submitter=ann",
	},
	api.Prefix + "/classes/cs101/assignments/hw1/submissions": {"user=ann", "user=nobody", "asked=true"},
	api.Prefix + "/tasks": {"state=done", "class=cs101", "kind=purge"},
	hw1 + "/submissions":  {"asked=true", "outcome=failed", "name=nobody"},
}

// reading is a page or an operation that somebody may read.
type reading struct{ who, path string }

// readings are all that can be read, by route and reader.
func (w *fixture) readings(all things) map[string]reading {
	w.t.Helper()
	found := map[string]reading{}
	try := func(pattern, query string, everybody bool) (is bool) {
		path := all.fill(pattern) + query
		for _, who := range []string{"tess", "ann", "root"} { // those whose pages they are first
			if a := w.read(reading{who, path}); !strings.Contains(path, "{") && a.Code == http.StatusOK {
				found[pattern+query+" by "+who], is = reading{who, path}, true
				if !everybody {
					break
				}
			}
		}
		return is
	}
	var patterns []string
	for _, route := range w.routes {
		if method, pattern, _ := strings.Cut(route.Pattern, " "); method == http.MethodGet {
			patterns = append(patterns, pattern)
		}
	}
	for _, op := range api.Operations() {
		if op.Method == http.MethodGet && !strings.Contains(op.Path, "events") { // those stay open
			patterns = append(patterns, api.Prefix+op.Path)
		}
	}
	asked := 0
	for _, pattern := range patterns {
		try(pattern, "", pattern == "/{$}" || pattern == api.Prefix+"/requests")
		for _, query := range filters[all.fill(pattern)] {
			asked++
			require.True(w.t, try(pattern, "?"+query, true), "%s?%s", pattern, query)
		}
	}
	require.Equal(w.t, len(slices.Concat(slices.Collect(maps.Values(filters))...)), asked, "each list of filters exists")
	return found
}

// read asks for a page or calls an operation; a program does so with a token that may do all.
func (w *fixture) read(one reading) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodGet, at+one.path, http.NoBody)
	if !strings.HasPrefix(one.path, api.Prefix) {
		return w.send(one.who, r)
	}
	program := &caller.Caller{Actor: w.as(one.who), Name: one.who, Token: "t1", Scopes: school.Scopes()}
	rec := httptest.NewRecorder()
	w.site.ServeHTTP(rec, r.WithContext(caller.With(context.WithoutCancel(w.t.Context()), program)))
	return rec
}

// stepsOf is how many steps a reading takes, by statement.
func (w *fixture) stepsOf(one reading) map[string]int {
	w.t.Helper()
	before := sqlitetest.Steps(w.t, w.store)
	w.read(one)
	took := sqlitetest.Steps(w.t, w.store)
	for query := range took {
		took[query] -= before[query]
	}
	return took
}

// Others' submissions make no page and no operation more work for the store, whatever it is asked for. Work is the steps
// of SQLite's virtual machine: an index, page or count that is missing takes some for each row.
func TestOthersSubmissionsMakeNoPageSlower(t *testing.T) {
	t.Parallel()
	var took [2]map[string]map[string]int // by reading, by statement
	for i, each := range []int{2, 22} {
		w := newFixture(t)
		now := time.Now()
		w.deps.Cluster.Now = func() time.Time { return now }
		all := w.things()
		w.term(4, 2, 3)
		sqlitetest.Fill(t, w.store, pool, sqlitetest.Classes{Classes: 4, Students: 50, Assignments: 1, Each: each})
		took[i] = map[string]map[string]int{}
		readings := w.readings(all)
		for _, name := range slices.Sorted(maps.Keys(readings)) {
			now = now.Add(2 * time.Minute) // what was read before is not used again, however long all takes
			took[i][name] = w.stepsOf(readings[name])
		}
	}
	require.Greater(t, len(took[0]), 100)
	require.Len(t, took[1], len(took[0]))
	for name, statements := range took[1] {
		for query, n := range statements {
			few := took[0][name][query]
			assert.LessOrEqual(t, n, few+few/5+20, "%s: with 400 submissions of others %d steps, with 4,400 %d: %s", name, few, n, query)
		}
	}
}

// BenchmarkOthers reads all that can be read from a store with ten thousand submissions and from one with a million, in
// turns, and reports the median of each in both, and their ratio. The class that is read has two thousand in both.
// With -short the others are a tenth of a million.
func BenchmarkOthers(b *testing.B) {
	each, names := [2]int{1, 100}, map[string][2]reading{}
	var fixtures [2]*fixture
	for i := range fixtures {
		w := newFixture(b)
		all := w.things()
		w.term(50, 10, 4)
		if testing.Short() {
			each[i] = min(each[i], 10)
		}
		began := time.Now()
		sqlitetest.Fill(b, w.store, pool, sqlitetest.Classes{Classes: 100, Students: 20, Assignments: 5, Each: each[i]})
		b.Logf("filled in %s", time.Since(began))
		for name, one := range w.readings(all) {
			both := names[name]
			both[i] = one
			names[name] = both
		}
		fixtures[i] = w
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b.Run(strings.ReplaceAll(strings.Trim(name, "/"), " ", "_"), func(b *testing.B) {
			var took [2][]time.Duration
			for b.Loop() {
				for i, w := range fixtures {
					began := time.Now()
					w.read(names[name][i])
					took[i] = append(took[i], time.Since(began))
				}
			}
			var median [2]float64
			for i := range took {
				slices.Sort(took[i])
				median[i] = float64(took[i][len(took[i])/2].Microseconds()) / 1000
			}
			b.ReportMetric(median[0], "ms/few")
			b.ReportMetric(median[1], "ms/many")
			b.ReportMetric(median[1]/median[0], "x_few")
		})
	}
}
