package operator_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/requests"
	"drover/web/browsertest"
	"drover/web/caller"
)

// setType sets a job type of olga's, compile in pool p1 if it does not say otherwise.
func (w *fixture) setType(t *testing.T, jt core.JobType) {
	t.Helper()
	jt.Name, jt.Pool, jt.Priority = cmp.Or(jt.Name, "compile"), cmp.Or(jt.Pool, "p1"), cmp.Or(jt.Priority, core.PriorityNormal)
	_, err := w.deps.Requests.SetJobType(t.Context(), users["olga"], jt)
	require.NoError(t, err)
}

func (w *fixture) typeNamed(t *testing.T, name string) core.JobType {
	t.Helper()
	jt, err := w.deps.Requests.JobType(t.Context(), users["olga"], name)
	require.NoError(t, err)
	return jt
}

// settings are those of the form of a job type.
func settings(pairs ...string) url.Values {
	all := form("pool", "p1", "priority", "low", "command", "sh -c 'make all\r\nrun'", "env", "A=1 2\r\n\r\n B=3 ", "collect", "out\r\nlog", "submitters", "rosa\nann",
		"timeout", "5s", "memory", "64MiB", "disk", "0", "file_size", "1MiB", "pids", "7", "open_files", "0", "output", "8KiB")
	for i := 0; i < len(pairs); i += 2 {
		all.Set(pairs[i], pairs[i+1])
	}
	return all
}

func TestJobTypeIsSet(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	const at = "/cluster/types/compile"
	require.Contains(t, w.shows(t, "olga", "/cluster/types"), "There are no job types yet.")
	w.does(t, "olga", "/cluster/types", form("name", "compile", "pool", "p1"), at)
	require.Equal(t, core.JobType{Name: "compile", Pool: "p1", Priority: core.PriorityNormal}, w.typeNamed(t, "compile"))
	w.does(t, "olga", at, settings(), at)
	want := core.JobType{
		Name: "compile", Pool: "p1", Priority: core.PriorityLow, Command: []string{"sh", "-c", "make all\nrun"}, Env: []string{"A=1 2", "B=3"},
		Collect: []string{"out", "log"}, Submitters: []string{"rosa", "ann"},
		Limits: core.Limits{Timeout: 5 * time.Second, Memory: 64 << 20, FileSize: 1 << 20, Pids: 7, Output: 8 << 10},
	}
	require.Equal(t, want, w.typeNamed(t, "compile"))
	html := w.shows(t, "olga", at)
	for _, has := range []string{"64 MiB</dd>", `<dt>Open files of a process</dt><dd>256 <span class="soft">(the pool&#39;s)`, "rosa, ann", "by=type", "sh -c &#39;make all\nrun&#39;</textarea>"} {
		require.Contains(t, html, has)
	}
	require.NotContains(t, w.shows(t, "otto", at), "rosa, ann")
	require.Contains(t, w.shows(t, "otto", "/cluster/pools/p1"), `href="`+at+`"`, "a pool names its job types")
	w.does(t, "olga", at, settings("command", "", "env", "", "collect", "", "submitters", ""), at)
	want.Command, want.Env, want.Collect, want.Submitters = nil, nil, nil, nil
	require.Equal(t, want, w.typeNamed(t, "compile"))
	require.Equal(t, http.StatusConflict, w.ask(t, "olga", "/cluster/pools/p1/remove", form()).Code, "it is used")
	w.does(t, "olga", at+"/delete", form(), "/cluster/types")
	require.Equal(t, http.StatusNotFound, w.ask(t, "olga", at, nil).Code)
	require.Equal(t, http.StatusNotFound, w.ask(t, "olga", at+"/delete", form()).Code)
}

// What a form shows, sent back, changes nothing: not even what it cannot say.
func TestJobTypeIsSentBack(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.setType(t, core.JobType{Command: []string{"a b", "'", "\"", "", "$x", "c\nd"}, Env: []string{"A=1\nB", "C= 2 "}, Limits: core.Limits{Memory: 1000, Timeout: 1500 * time.Millisecond}})
	want := w.typeNamed(t, "compile")
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.served(t, "olga") + "/cluster/types/compile")
	tab.Press("Save")
	tab.Await("Job type compile is set.")
	require.Equal(t, want, w.typeNamed(t, "compile"))
}

// What is wrong stands at its field, with what was typed, and nothing is set.
func TestJobTypeWithFaults(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.setType(t, core.JobType{})
	was := w.typeNamed(t, "compile")
	for field, typed := range map[string]string{
		"pool": "gone", "priority": "urgent", "command": "make 'all", "env": "<b>=1", "collect": "/etc", "submitters": "A B", "timeout": "soon", "memory": "900GiB",
		"disk": "much", "pids": "-1", "open_files": "x", "output": "900GiB",
	} {
		got := w.ask(t, "olga", "/cluster/types/compile", settings(field, typed))
		require.Equal(t, http.StatusUnprocessableEntity, got.Code, field)
		html := got.Body.String()
		require.Contains(t, html, `id="e-`+field+`"`, field)
		require.Equal(t, 1, strings.Count(html, ` id="e-`), "%s: %s", field, html)
		require.Contains(t, html, "what is wrong stands at the fields")
		require.NotContains(t, html, "<b>")
	}
	html := w.ask(t, "olga", "/cluster/types/compile", settings("memory", "900GiB", "env", "=", "submitters", "<i>")).Body.String()
	require.Equal(t, 3, strings.Count(html, ` id="e-`), "all at once")
	require.Contains(t, html, `value="900GiB"`)
	require.Contains(t, html, "&lt;i&gt;</textarea>")
	require.Equal(t, was, w.typeNamed(t, "compile"))
	for _, wrong := range []url.Values{form("name", "A B", "pool", "p1"), form("name", "compile", "pool", "p1"), form("name", "new", "pool", "gone"), form()} {
		require.Equal(t, http.StatusUnprocessableEntity, w.ask(t, "olga", "/cluster/types", wrong).Code, wrong)
	}
	all, err := w.deps.Requests.JobTypes(t.Context(), users["olga"])
	require.NoError(t, err)
	require.Len(t, all, 1)
}

// harness sends an archive for a job type; without one, a form in which none was chosen.
func (w *fixture) harness(t *testing.T, who, name string, archive []byte) *httptest.ResponseRecorder {
	t.Helper()
	var body bytes.Buffer
	f := multipart.NewWriter(&body)
	require.NoError(t, f.WriteField("archives", "keep"))
	file := ""
	if archive != nil {
		file = "h.zip"
	}
	part, err := f.CreateFormFile("archive", file)
	require.NoError(t, err)
	_, err = part.Write(archive)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r := httptest.NewRequest(http.MethodPost, "/cluster/types/"+name+"/harness", &body)
	r.Header.Set("Content-Type", f.FormDataContentType())
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: users[who], Name: who})))
	return rec
}

func zipped(t *testing.T, name string) []byte {
	t.Helper()
	var raw bytes.Buffer
	z := zip.NewWriter(&raw)
	h := &zip.FileHeader{Name: name}
	h.SetMode(0o755)
	out, err := z.CreateHeader(h)
	require.NoError(t, err)
	_, err = out.Write([]byte("#!/bin/sh\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return raw.Bytes()
}

func TestHarnessOfAJobType(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.setType(t, core.JobType{Command: []string{"make"}, Collect: []string{"out"}})
	const at = "/cluster/types/compile"
	for name, archive := range map[string][]byte{"none": nil, "no archive": []byte("text"), "a path outside": zipped(t, "../main"), "no main": zipped(t, "other")} {
		got := w.harness(t, "olga", "compile", archive)
		require.Contains(t, []int{http.StatusUnprocessableEntity}, got.Code, name)
		require.Contains(t, got.Body.String(), `role="alert"`, name)
		require.Nil(t, w.typeNamed(t, "compile").Harness, name)
	}
	require.Equal(t, http.StatusForbidden, w.harness(t, "otto", "compile", zipped(t, "main")).Code)
	require.Equal(t, http.StatusNotFound, w.harness(t, "olga", "other", zipped(t, "main")).Code)
	got := w.harness(t, "olga", "compile", zipped(t, "main"))
	require.Equal(t, http.StatusSeeOther, got.Code, got.Body.String())
	jt := w.typeNamed(t, "compile")
	require.NotNil(t, jt.Harness)
	require.Empty(t, jt.Command)
	require.Contains(t, w.shows(t, "olga", at), "a harness <code>sha256:")
	w.does(t, "olga", at, settings("command", "", "collect", ""), at)
	require.Equal(t, jt.Harness, w.typeNamed(t, "compile").Harness, "it stays")
	w.does(t, "olga", at+"/harness/remove", form(), at)
	require.Nil(t, w.typeNamed(t, "compile").Harness)
	require.Equal(t, http.StatusSeeOther, w.harness(t, "olga", "compile", zipped(t, "main")).Code)
	w.does(t, "olga", at, settings("command", "make"), at)
	jt = w.typeNamed(t, "compile")
	require.Nil(t, jt.Harness, "a command replaces it")
	require.Empty(t, jt.Input)
}

// A request's page names its job type and its batch.
func TestRequestNamesItsTypeAndBatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	w.setType(t, core.JobType{Command: []string{"make"}})
	b, _, err := w.deps.Requests.SubmitBatch(t.Context(), users["olga"], requests.BatchDraft{Type: "compile", Jobs: []requests.Job{{}}})
	require.NoError(t, err)
	all, err := w.deps.Requests.List(t.Context(), users["olga"], requests.Filter{Batch: b.ID})
	require.NoError(t, err)
	html := w.shows(t, "otto", "/cluster/requests/"+all.Items[0].ID)
	require.Contains(t, html, `href="/cluster/types/compile"`)
	require.Contains(t, html, `href="/batches/`+b.ID+`"`)
}
