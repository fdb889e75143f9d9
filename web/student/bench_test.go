package student_test

import (
	"testing"
	"time"
)

// BenchmarkPages renders pages with 10,000 submissions in the store, each in turn with a
// page that asks no store, and reports how many times as long they take.
func BenchmarkPages(b *testing.B) {
	w := newFixture(b)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	w.fill(10_000)
	for name, path := range map[string]string{
		"home": "/", "class": "/classes/cs101", "assignment": "/classes/cs101/assignments/hw1", "submission": at, "tasks": "/tasks",
	} {
		b.Run(name, func(b *testing.B) {
			var page, plain time.Duration
			for b.Loop() {
				plain += took(func() { w.get("rosa", "/requests/new") })
				page += took(func() { w.get("ann", path) })
			}
			b.ReportMetric(float64(page)/float64(plain), "x-plain")
			b.ReportMetric(float64(page.Milliseconds())/float64(b.N), "ms/page")
		})
	}
}

func took(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}
