package api_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/requests"
	"drover/core/school"
	"drover/web/api"
)

// requestForm is a body that requests something, with files: name of the part, path and
// content in turn.
func requestForm(says string, files ...string) (kind string, body *bytes.Buffer) {
	return formOf("request", says, files...)
}

// formOf makes a form of a first part, and of files as requestForm has them.
func formOf(first, says string, files ...string) (kind string, body *bytes.Buffer) {
	body = &bytes.Buffer{}
	f := multipart.NewWriter(body)
	_ = f.WriteField(first, says)
	for i := 0; i < len(files); i += 3 {
		part, _ := f.CreatePart(textproto.MIMEHeader{
			"Content-Disposition": {`form-data; name="` + files[i] + `"; filename="` + files[i+1] + `"`}, "File-Mode": {"755"},
		})
		_, _ = io.WriteString(part, files[i+2])
	}
	_ = f.Close()
	return f.FormDataContentType(), body
}

// ask sends a request's form.
func (w *fixture) ask(who, key, says string, files ...string) answer {
	w.t.Helper()
	kind, body := requestForm(says, files...)
	r := httptest.NewRequest(http.MethodPost, api.Prefix+"/requests", body)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Idempotency-Key", key)
	return w.send(w.as(who), r)
}

func TestRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var v requests.View
	says := `{"pool": "p1", "command": ["python3", "main.py"], "env": ["KEY=secret"], "collect": ["out"], "limits": {"timeout_ns": 5000000000}}`
	a := w.ask("rosa", "k1", says, "file", "main.py", "print()", "stdin", "x", "1 2 3", "file", "lib/a.py", "").is(http.StatusCreated).into(&v)
	require.Equal(t, "/api/v1/requests/"+v.ID, a.Header().Get("Location"))
	row, err := w.in.Store.Get(t.Context(), v.ID)
	require.NoError(t, err)
	s := row.Spec
	require.Equal(t, []string{"python3", "main.py"}, s.Command)
	require.Equal(t, []string{"KEY=secret"}, s.Env)
	require.Equal(t, []string{"out"}, s.Collect)
	require.Equal(t, "rosa", s.Submitter)
	require.EqualValues(t, 5_000_000_000, s.Limits.Timeout)
	require.Len(t, s.Files, 2)
	require.Equal(t, "lib/a.py", s.Files[1].Path)
	require.Equal(t, uint32(0o755), s.Files[0].Mode)
	require.EqualValues(t, 5, s.Stdin.Size)

	again := v.ID
	w.ask("rosa", "k1", says).is(http.StatusOK).into(&v)
	require.Equal(t, again, v.ID)
	w.ask("rosa", "", says).is(http.StatusCreated).into(&v)
	require.NotEqual(t, again, v.ID)

	a = w.call("rosa", "GET", "/requests/"+v.ID, nil).is(http.StatusOK).into(&v)
	require.Equal(t, core.RequestQueued, v.State)
	require.NotNil(t, v.Waiting)
	require.NotContains(t, a.Body.String(), "secret")
	w.call("ann", "GET", "/requests/"+v.ID, nil).problem(http.StatusNotFound, core.CodeNotFound)
	w.call("rosa", "GET", "/requests/"+v.ID+"/files/out/x", nil).problem(http.StatusConflict, core.CodeConflict)
	w.call("rosa", "POST", "/requests/"+v.ID+"/rerun", nil).problem(http.StatusConflict, core.CodeConflict)

	var stopped api.Stopped
	w.call("rosa", "POST", "/requests/"+v.ID+"/cancel", nil).is(http.StatusAccepted).into(&stopped)
	require.Equal(t, core.RequestCancelled, stopped.State)
}

func TestRequestThatHasEnded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := ended(w, 0)
	var v requests.View
	w.call("ann", "GET", "/requests/"+id, nil).is(http.StatusOK).into(&v)
	require.Equal(t, core.RequestCompleted, v.State)
	require.Len(t, v.Files, 1)
	a := w.call("ann", "GET", "/requests/"+id+"/files/main.py", nil).is(http.StatusOK)
	require.Equal(t, "print()", a.Body.String())
	require.Equal(t, "application/octet-stream", a.Header().Get("Content-Type"))
	require.Contains(t, a.Header().Get("Content-Security-Policy"), "sandbox")
	w.call("ann", "GET", "/requests/"+id+"/files/other.py", nil).problem(http.StatusNotFound, core.CodeNotFound)
	w.call("ann", "POST", "/requests/"+id+"/cancel", nil).problem(http.StatusConflict, core.CodeEnded)
	var tries api.Page[core.Attempt]
	w.call("ann", "GET", "/requests/"+id+"/attempts", nil).is(http.StatusOK).into(&tries)
	require.NotNil(t, tries.Items)
	w.call("ann", "POST", "/requests/"+id+"/rerun", nil).is(http.StatusAccepted).into(&v)
	require.Equal(t, 2, v.Generation)
}

func TestGradingRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	var v requests.View
	w.ask("rosa", "", `{"pool": "p1", "assignment": "try", "input": {"actions": ["a"]}}`,
		"harness", "harness.tar", harnessTar(t), "file", "main.py", "print()").is(http.StatusCreated).into(&v)
	row, err := w.in.Store.Get(t.Context(), v.ID)
	require.NoError(t, err)
	require.NotNil(t, row.Spec.Harness)
	require.JSONEq(t, `{"actions": ["a"]}`, string(row.Spec.Input))
	require.Equal(t, "try", row.Spec.Assignment)
}

// Every operation with a harness accepts a folder, however it was packed.
func TestAHarnessInAnArchiveOfAnyKind(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	want := sha256.Sum256([]byte(harnessTar(t)))
	digest := "sha256:" + hex.EncodeToString(want[:])
	for kind, pack := range map[string]func(t testing.TB, dir string) string{
		"a tar": func(t testing.TB, dir string) string {
			out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-cf", "-", ".").Output()
			require.NoError(t, err)
			return string(out)
		},
		"a compressed tar of the folder": func(t testing.TB, dir string) string {
			out, err := exec.CommandContext(t.Context(), "tar", "-C", filepath.Dir(dir), "-czf", "-", filepath.Base(dir)).Output()
			require.NoError(t, err)
			return string(out)
		},
		"a zip": func(t testing.TB, dir string) string {
			var out bytes.Buffer
			z := zip.NewWriter(&out)
			require.NoError(t, z.AddFS(os.DirFS(dir)))
			require.NoError(t, z.Close())
			return out.String()
		},
	} {
		packed, path := pack(t, harnessDir(t)), "/classes/cs101/assignments/"+w.assignment("hw-"+strings.ReplaceAll(kind, " ", "-")).Handle
		var as school.Assignment
		w.sent("tess", http.MethodPut, path+"/harness", "application/x-www-form-urlencoded", packed).is(http.StatusOK).into(&as)
		require.Equal(t, digest, as.Harness.File.Digest, kind)

		var v requests.View
		w.ask("rosa", "", `{"pool": "p1"}`, "harness", "harness", packed, "file", "main.py", "print()").is(http.StatusCreated).into(&v)
		row, err := w.in.Store.Get(t.Context(), v.ID)
		require.NoError(t, err)
		require.Equal(t, digest, row.Spec.Harness.Digest, kind)

		var e school.Experiment
		w.sent("tess", http.MethodPost, path+"/experiments", "application/zip", packed).is(http.StatusCreated).into(&e)
		require.Equal(t, digest, e.Harness.File.Digest, kind)
	}
}

// sent calls the API with a body of any kind.
func (w *fixture) sent(who, method, path, kind, body string) answer {
	r := httptest.NewRequest(method, api.Prefix+path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	return w.send(w.as(who), r)
}

func TestRequestsAreWalkedByCursor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	made := []string{requested(w, 0), requested(w, 1), requested(w, 2)}
	slices.Reverse(made)
	next, seen := "", []string{}
	for {
		var page api.Page[requests.View]
		a := w.call("ann", "GET", "/requests?limit=1&state=queued,running&cursor="+next, nil).is(http.StatusOK).into(&page)
		for _, v := range page.Items {
			seen = append(seen, v.ID)
		}
		if next = page.Next; next == "" {
			require.Empty(t, a.Header().Get("Link"))
			break
		}
		require.Contains(t, a.Header().Get("Link"), "cursor="+next)
	}
	require.Equal(t, made, seen)
	var page api.Page[requests.View]
	w.call("cleo", "GET", "/requests", nil).is(http.StatusOK).into(&page)
	require.Empty(t, page.Items)
	w.call("cleo", "GET", "/requests?submitter=ann", nil).problem(http.StatusForbidden, core.CodeForbidden)
	w.call("cleo", "GET", "/requests?state=lost", nil).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	good := `{"pool": "p1", "command": ["true"]}`
	for says, code := range map[string]core.Code{
		``: core.CodeInvalid, `[]`: core.CodeInvalid, `{`: core.CodeInvalid, `{}`: core.CodeInvalid, good + good: core.CodeInvalid,
		`{"pool": "p1"}`:                                       core.CodeInvalid,
		`{"pool": "p1", "command": "true"}`:                    core.CodeInvalid,
		`{"pool": "p1", "command": ["true"], "secret": "abc"}`: core.CodeInvalid,
		`{"pool": "p1", "command": ["true"], "class": "top"}`:  core.CodeInvalid,
	} {
		p := w.ask("rosa", "", says).problem(http.StatusUnprocessableEntity, code)
		require.NotContains(t, p.Detail, "abc")
	}
	w.ask("rosa", "", `{"pool": "p9", "command": ["true"]}`).problem(http.StatusNotFound, core.CodeNotFound)
	w.ask("rosa", "", `{"pool": "p1", "command": ["true"], "priority": "high"}`).problem(http.StatusForbidden, core.CodeForbidden)
	w.ask("rosa", "", `{"pool": "p1", "command": ["`+strings.Repeat("x", core.MaxSpecBytes)+`"]}`).problem(http.StatusRequestEntityTooLarge, core.CodeLimit)
	w.ask("rosa", "", good, "harness", "h", "no tar").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.ask("rosa", "", good, "file", "../x", "").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.ask("rosa", "", good, "else", "x", "").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.ask("rosa", "", good, "stdin", "a", "", "stdin", "b", "").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.ask("rosa", strings.Repeat("k", 101), good).problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.upload("rosa", "/requests", "main.py", "x").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.upload("rosa", "/requests").problem(http.StatusUnprocessableEntity, core.CodeInvalid)
	w.nothingLeft()
}
