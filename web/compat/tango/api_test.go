package tango_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/compat/tango"
	"drover/web/services"
)

const addJob = `{"image": "autograding", "files": [{"localFile": "Makefile", "destFile": "Makefile"}], "jobName": "j", "output_file": "o", "timeout": 3}`

// ready opens a courselab with a Makefile.
func (w *fixture) ready() {
	w.t.Helper()
	w.says("GET", "/open/ann/lab/", "", "Created directory")
	w.says("POST", "/upload/ann/lab/", "all:\n\t@echo made\n", "Uploaded file", "Makefile")
}

func (w *fixture) says(method, path, body, want string, filename ...string) {
	w.t.Helper()
	status, answer := w.ask(method, path, body, filename...)
	require.Equal(w.t, http.StatusOK, status, answer)
	require.Contains(w.t, answer, want)
}

// What drover says of a job's end stands in its output.
func TestEndsOfDrover(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*core.Result){
		"Error: Too long.\n|Autodriver: Job timed out after 3 seconds\nmade\n": func(r *core.Result) {
			r.State, r.Blame, r.Reason = core.RequestTimedOut, core.BlameSubmission, "Too long."
		},
		"Internal error: Unable to complete job. Please resubmit. No host.\n|---\n": func(r *core.Result) {
			r.State, r.Blame, r.Reason, r.Times.Started, r.Files = core.RequestDead, core.BlamePlatform, "No host.", -1, nil
		},
	} {
		t.Run(want[:9], func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Change = change
			w.ready()
			w.says("POST", "/addJob/ann/lab/", addJob, "Job added")
			_, output := w.ask("GET", "/poll/ann/lab/o/", "")
			middle, end, _ := strings.Cut(want, "|")
			require.Contains(t, output, middle)
			require.True(t, strings.HasSuffix(output, end), output)
		})
	}
}

// A job that has not ended has no output, and is live.
func TestWaits(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Held = true
	w.ready()
	w.says("POST", "/addJob/ann/lab/", addJob, "Job added")
	w.says("GET", "/poll/ann/lab/o/", "", "Output file not found")
	w.says("GET", "/jobs/ann/0/", "", `"state":"queued"`)
	w.says("GET", "/jobs/ann/1/", "", `"jobs":[]`)
}

// A file whose content may be gone is not there any more.
func TestFilesAge(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.ready()
	w.now = w.now.Add(13 * time.Hour)
	w.says("GET", "/open/ann/lab/", "", `"files":{}`)
	w.says("POST", "/addJob/ann/lab/", addJob, "upload it")
}

func TestBounds(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(p *services.Deps, own *tango.Settings) { p.Limits, own.MaxFile = nil, 100 })
	w.ready()
	status, _ := w.ask("POST", "/upload/ann/lab/", strings.Repeat("x", 101), "large")
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	status, _ = w.ask("POST", "/addJob/ann/lab/", strings.Replace(addJob, `"j"`, `"`+strings.Repeat("j", 1<<20)+`"`, 1))
	require.Equal(t, http.StatusRequestEntityTooLarge, status)
	for i := range 200 {
		w.says("GET", fmt.Sprintf("/open/ann/lab%d/", i), "", "Created")
	}
	w.says("POST", "/upload/ann/lab/", "x", "Courselab not found", "a") // the one that was opened first
	w.says("POST", "/upload/ann/lab199/", "x", "Uploaded", "a")
	w.says("GET", "/open/ann/lab/", "", "Created") // its files are still there
	w.says("POST", "/addJob/ann/lab/", addJob, "Job added")
	w.says("GET", "/open/ann/"+strings.Repeat("x", 201)+"/", "", "too long")
}

// What a user brings is bounded, whatever it is called and wherever it is put.
func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(_ *services.Deps, own *tango.Settings) { own.Bytes = 1 << 20 })
	w.ready()
	refused := 0
	for i := range 10 {
		lab := fmt.Sprintf("/ann/lab%d/", i)
		w.says("GET", "/open"+lab, "", "Created")
		status, answer := w.ask("POST", "/upload"+lab, strings.Repeat(fmt.Sprint(i), 300<<10), "f")
		if status == http.StatusTooManyRequests {
			refused++
			require.Contains(t, answer, "too much")
			w.says("GET", "/open"+lab, "", `"files":{}`)
		}
	}
	require.GreaterOrEqual(t, refused, 7)
	w.says("GET", "/open/bob/lab/", "", "Created")
	w.says("POST", "/upload/bob/lab/", strings.Repeat("x", 300<<10), "Uploaded", "f")
}

// copying puts a note once more, under other fields.
type copying struct {
	core.Cache

	again func(ctx context.Context, field string) error
}

func (c *copying) Put(ctx context.Context, name, field, text string, most int, keep time.Duration) error {
	c.again = func(ctx context.Context, field string) error { return c.Cache.Put(ctx, name, field, text, most, keep) }
	return c.again(ctx, field)
}

// Of many files those that were used last stay.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	var cache copying
	w := newFixture(t, func(p *services.Deps, own *tango.Settings) {
		cache.Cache = own.Cache
		p.Limits, own.Cache = nil, &cache
	})
	w.ready()
	w.says("POST", "/upload/ann/lab/", "x", "Uploaded", "f0")
	more := cache.again // without reading all that there are for each
	for i := range 1100 {
		require.NoError(t, more(t.Context(), fmt.Sprint("f", i)))
		if i == 900 {
			w.says("POST", "/addJob/ann/lab/", addJob, "Job added")
		}
	}
	w.says("POST", "/addJob/ann/lab/", addJob, "Job added")
	w.says("POST", "/addJob/ann/lab/", strings.Replace(addJob, `"localFile": "Makefile"`, `"localFile": "f0"`, 1), "upload it")
	_, answer := w.ask("GET", "/open/ann/lab/", "")
	require.LessOrEqual(t, strings.Count(answer, `":"`), 1001)
}
