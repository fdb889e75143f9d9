package student_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/blobs/pack"
	"drover/core/harness"
)

// explain makes an assignment whose harness has something for students: paths and contents in turn.
func (w *fixture) explain(handle string, pairs ...string) {
	w.t.Helper()
	w.assignment(handle)
	files := map[string]pack.File{"main": {Run: true, Content: []byte("#!/bin/sh\n")}}
	for i := 0; i < len(pairs); i += 2 {
		files["handout/"+pairs[i]] = pack.File{Content: []byte(pairs[i+1])}
	}
	p, err := harness.PackFiles(files)
	require.NoError(w.t, err)
	tess, err := w.reg.Actor(w.t.Context(), "tess")
	require.NoError(w.t, err)
	_, err = w.reg.SetHarness(w.t.Context(), tess, "cs101", handle, p.Tar())
	require.NoError(w.t, err)
}

const explained = "/classes/cs101/assignments/hw1"

// A statement is in the reader's language, and others are a link away.
func TestStatementInTheReadersLanguage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.explain("hw1", "statement/problem.en.md", "Add *them*.\n\n![dots](img/dots.png)\n\n![none](no.png)", "statement/problem.de.html", "<p>Addiere <b onclick=x>sie</b>.</p>",
		"statement/problem.en.pdf", "%PDF-1.4", "statement/problem.sv.pdf", "%PDF-1.4", "statement/img/dots.png", "\x89PNG\r\n\x1a\n")
	body := w.get("ann", explained)
	assert.Contains(t, body, `<div lang="en"><p>Add <em>them</em>.</p>`)
	assert.Contains(t, body, `<img src="`+explained+`/handout/statement/img/dots.png" alt="dots">`)
	assert.Contains(t, body, `<img src="" alt="none">`)
	assert.Contains(t, body, `<a href="?statement=de" lang="de" hreflang="de">Deutsch</a>`)
	assert.Contains(t, body, `<a href="`+explained+`/handout/statement/problem.sv.pdf" hreflang="sv">Statement as PDF (Svenska)</a>`)
	assert.NotContains(t, body, "Addiere")
	assert.Contains(t, w.get("ann", explained+"?statement=de"), `<div lang="de"><p>Addiere <b>sie</b>.</p></div>`)
	w.language = "de"
	assert.Contains(t, w.get("ann", explained), `<div lang="de"><p>Addiere <b>sie</b>.</p></div>`)
	assert.Contains(t, w.get("ann", explained+"?statement=en"), "Add <em>them</em>")
}

// Samples can be copied, long ones downloaded, and conversations are read line by line.
func TestSamplesAndAttachments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.explain("hw1", "samples/1.in", "1 <2>\n", "samples/1.ans", strings.Repeat("3\n", 4000), "samples/1.desc", "*Small* numbers.", "samples/2.interaction", "<5\n>guess 3\n",
		"attachments/lib/add me.py", "pass\n")
	body := w.get("ann", explained)
	assert.Contains(t, body, `<pre id="sample1-1" tabindex="0">1 &lt;2&gt;`+"\n</pre>")
	assert.Contains(t, body, `<button type="button" class="plain" data-copy="sample1-1" data-what="1, Input" hidden>`)
	assert.Contains(t, body, `data-copied="Copied"`)
	assert.Contains(t, body, `<a href="`+explained+`/handout/samples/1.ans?download=1" download>Download the whole file</a>, 7.81 KiB`)
	assert.Equal(t, 2048, strings.Count(body, "3\n"))
	assert.Contains(t, body, "<em>Small</em> numbers.")
	assert.Contains(t, body, `<li class="sent"><span>Your program</span> <pre>guess 3</pre></li>`)
	assert.Contains(t, body, `<a href="`+explained+`/handout/attachments/lib/add%20me.py?download=1" download>lib/add me.py</a> <small>5 B</small>`)
	assert.Contains(t, body, `<a href="`+explained+`/samples.zip" download>Download all samples</a>`)
	packed := w.ask("ann", httptest.NewRequest(http.MethodGet, explained+"/samples.zip", http.NoBody))
	assert.Equal(t, http.StatusOK, packed.Code)
	assert.Equal(t, `attachment; filename=cs101-hw1-samples.zip`, packed.Header().Get("Content-Disposition"))
	rec := w.ask("ann", httptest.NewRequest(http.MethodGet, explained+"/handout/attachments/lib/add%20me.py", http.NoBody))
	assert.Equal(t, "pass\n", rec.Body.String())
	assert.Equal(t, `attachment; filename="add me.py"`, rec.Header().Get("Content-Disposition"))
}

// Whatever a package has in it, a browser runs nothing of it as this site.
func TestHandoutFilesAreInert(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.explain("hw1", "attachments/a.html", "<script>alert(1)</script>", "attachments/b.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`,
		"attachments/c.pdf", "%PDF-1.4", "attachments/d.png", "<script>", "attachments/e.svg", "%PDF-1.4")
	for file, want := range map[string]string{
		"a.html": "attachment application/octet-stream", "b.svg": "inline image/svg+xml", "c.pdf": "inline application/pdf", "d.png": "attachment application/octet-stream",
		"e.svg": "inline application/pdf", "b.svg?download=1": "attachment application/octet-stream",
	} {
		rec := w.ask("ann", httptest.NewRequest(http.MethodGet, explained+"/handout/attachments/"+file, http.NoBody))
		require.Equal(t, http.StatusOK, rec.Code, file)
		h := rec.Header()
		disposition, _, _ := strings.Cut(h.Get("Content-Disposition"), ";")
		assert.Equal(t, want, disposition+" "+h.Get("Content-Type"), file)
		assert.Equal(t, "default-src 'none'; sandbox", h.Get("Content-Security-Policy"), file)
		assert.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), file)
	}
	for _, none := range []string{"/handout/main", "/handout/.page", "/handout/attachments", "/handout/..%2fmain"} {
		assert.Equal(t, http.StatusNotFound, w.ask("ann", httptest.NewRequest(http.MethodGet, explained+none, http.NoBody)).Code, none)
	}
	assert.Equal(t, http.StatusNotFound, w.ask("eve", httptest.NewRequest(http.MethodGet, explained+"/handout/attachments/c.pdf", http.NoBody)).Code, "of another class")
}

// An assignment that is made of a problem package says its limits above the statement.
func TestLimitsOfAProblem(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	assert.NotContains(t, w.get("ann", explained), "Time limit")
	p, err := harness.PackFiles(map[string]pack.File{
		"cases.yaml":        {Content: []byte("run: cat\ntests:\n  - input: a\n    output: a\n")},
		harness.ProblemFile: {Content: []byte(`{"title": "Sum", "format": "legacy", "type": "pass-fail", "tests": 1, "time_ms": 1500, "memory_bytes": 268435456, "digest": "` + strings.Repeat("0", 64) + `"}`)},
	})
	require.NoError(t, err)
	tess, err := w.reg.Actor(t.Context(), "tess")
	require.NoError(t, err)
	_, err = w.reg.SetHarness(t.Context(), tess, "cs101", "hw1", p.Tar())
	require.NoError(t, err)
	body := w.get("ann", explained)
	assert.Contains(t, body, "<dt>Time limit</dt><dd>1.5 s <small>for each test</small></dd>")
	assert.Contains(t, body, "<dt>Memory limit</dt><dd>256 MiB</dd>")
}
