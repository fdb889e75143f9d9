package frontend_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/store/storetest"
)

// A term: so many students, who submitted so often for each of so many assignments.
const (
	termStudents    = 200
	termAssignments = 30
	termEach        = 50
)

// BenchmarkTerm asks each page of the site for a class that has a whole term behind it, 300,000 submissions in the
// store, and reports the median of its answers. With -short the term has a hundredth of them.
func BenchmarkTerm(b *testing.B) {
	w := newFixture(b)
	all := w.things()
	if testing.Short() {
		w.term(termStudents, 3, 5)
	} else {
		w.term(termStudents, termAssignments, termEach)
	}
	for _, route := range w.routes {
		method, pattern, _ := strings.Cut(route.Pattern, " ")
		path := all.fill(pattern)
		if method != http.MethodGet || strings.Contains(path, "{") {
			continue
		}
		for _, who := range []string{"tess", "ann", "root"} { // those whose pages they are first
			first := w.send(who, httptest.NewRequest(http.MethodGet, at+path, http.NoBody))
			if first.Code != http.StatusOK || !strings.Contains(first.Header().Get("Content-Type"), "html") {
				continue
			}
			b.Run(strings.Trim(path, "/")+" by "+who, func(b *testing.B) {
				var took []time.Duration
				for b.Loop() {
					began := time.Now()
					w.send(who, httptest.NewRequest(http.MethodGet, at+path, http.NoBody))
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms/page")
				b.ReportMetric(float64(first.Body.Len())/1000, "kB")
			})
			if path != "/" { // everybody's home is another
				break
			}
		}
	}
}

// term fills cs101 with students, ann among them, and with what they submitted; half of it passed.
func (w *fixture) term(students, assignments, each int) {
	w.t.Helper()
	ctx := w.t.Context()
	digest, size, err := w.blobs.Put(ctx, strings.NewReader(strings.Repeat("print('hello')\n", 300)), 1<<20)
	require.NoError(w.t, err)
	handles := []string{"ann"}
	for i := range students - 1 {
		user := fmt.Sprintf("s%03d", i)
		handles = append(handles, user)
		w.user(user)
		require.NoError(w.t, w.store.Enrol(ctx, school.Enrolment{Class: "cs101", User: user, Role: core.RoleStudent}))
	}
	for i := range assignments - 1 { // there is hw1
		w.assignment(fmt.Sprintf("hw%d", i+2))
	}
	var workers sync.WaitGroup
	users := make(chan int)
	for range 8 {
		workers.Go(func() {
			for u := range users {
				for i := range assignments * each {
					if err := w.grade(handles[u], fmt.Sprintf("hw%d", i/each+1), core.File{Path: "main.py", Digest: digest, Size: size}, float64((u+i)%11)); err != nil {
						w.t.Error(err)
						return
					}
				}
			}
		})
	}
	for u := range handles {
		users <- u
	}
	close(users)
	workers.Wait()
}

// grade has a student submit, with ten points at most.
func (w *fixture) grade(user, assignment string, file core.File, score float64) error {
	ctx := w.t.Context()
	sub := storetest.Submission("cs101", assignment, user)
	sub.Files, sub.At = []core.File{file}, start
	spec := storetest.Grading(sub)
	spec.Files, spec.Pool, spec.Submitted, sub.Request = sub.Files, pool, start, spec.ID
	if _, _, err := w.store.CreateSubmission(ctx, sub, &spec); err != nil {
		return err
	}
	result, highest := storetest.Result(spec, "1.1"), 10.0
	result.Score, result.MaxScore = &score, &highest
	result.Times = core.Times{Submitted: start, Queued: start + 1, Claimed: start + 2, Started: start + 3, Finished: start + 500}
	for i := range 10 {
		test := core.Test{Name: fmt.Sprintf("test %d", i), MaxScore: 1}
		if float64(i) < score {
			test.Score = 1
		}
		result.Tests = append(result.Tests, test)
	}
	_, err := w.store.Record(ctx, result)
	return err
}
