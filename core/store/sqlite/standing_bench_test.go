package sqlite

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"drover/core"
	"drover/core/school"
	"drover/core/store/storetest"
)

// The class that pages are read of: each of its students submitted so often.
const (
	benchStudents = 500
	benchEach     = 20
)

// BenchmarkPages reads pages of 10,000 graded submissions, as course pages do.
func BenchmarkPages(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "drover.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	fillClass(b, s)
	for name, read := range map[string]func() ([]school.Standing, error){
		"standings=500": func() ([]school.Standing, error) { return s.Standings(b.Context(), "cs101", "hw1", "", benchStudents) },
		"standings=50":  func() ([]school.Standing, error) { return s.Standings(b.Context(), "cs101", "hw1", "u250", 50) },
		"of_assignment=50": func() ([]school.Standing, error) {
			return s.ListSubmissions(b.Context(), school.SubmissionFilter{Class: "cs101", Assignment: "hw1"})
		},
		"of_user=20": func() ([]school.Standing, error) {
			return s.ListSubmissions(b.Context(), school.SubmissionFilter{Class: "cs101", Assignment: "hw1", User: "u250"})
		},
	} {
		b.Run(name, func(b *testing.B) {
			rows := 0
			for b.Loop() {
				page, err := read()
				if err != nil {
					b.Fatal(err)
				}
				rows = len(page)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N), "µs/page")
			b.ReportMetric(float64(rows), "rows")
		})
	}
}

// fillClass submits, each submission with a request of some files that has its result.
func fillClass(b *testing.B, s *Store) {
	b.Helper()
	ctx := b.Context()
	if _, err := s.PutClass(ctx, storetest.Class("cs101")); err != nil {
		b.Fatal(err)
	}
	if _, err := s.PutAssignment(ctx, storetest.Assignment("cs101", "hw1")); err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range benchStudents {
		all.Go(func() {
			user := fmt.Sprintf("u%03d", i)
			_, err := s.PutUser(ctx, storetest.User(user))
			for range benchEach {
				sub := storetest.Submission("cs101", "hw1", user)
				for n := range 2 {
					sub.Files = append(sub.Files, core.File{Path: fmt.Sprintf("src/file%d.c", n), Digest: sub.Files[0].Digest, Size: 4096})
				}
				spec := storetest.Grading(sub)
				spec.Files, sub.Request = sub.Files, spec.ID
				result, score := storetest.Result(spec, "1.1"), float64(i)
				result.Score = &score
				for range 20 {
					result.Tests = append(result.Tests, core.Test{Name: "a test", Score: 1, MaxScore: 1, Message: "what was expected, and what was there"})
				}
				if err == nil {
					_, _, err = s.CreateSubmission(ctx, sub, &spec)
				}
				if err == nil {
					_, err = s.Record(ctx, result)
				}
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}
