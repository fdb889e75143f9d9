package tango_test

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/compat/compattest"
	"drover/web/compat/tango"
)

// A receiver gets a form with the output, as it is polled, and its name.
func TestCallback(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	url, calls := compattest.Receiver(t, http.StatusOK)
	w.Taskrunner(map[string]core.Callback{tango.Name: tango.Callback(w.Blobs)})
	w.ready()
	job := strings.Replace(addJob, `"output_file": "o"`, `"output_file": "sub/o.txt", "callback_url": "`+url+`/courses/1/autograde_done?dave=x"`, 1)
	w.says("POST", "/addJob/ann/lab/", job, "Job added")
	got := <-calls
	require.Equal(t, http.MethodPost, got.Method)
	require.Equal(t, "/courses/1/autograde_done", got.Path)
	require.Equal(t, "o.txt", got.Header.Get("Filename"))
	compattest.RequireSigned(t, "ann", got)
	kind, fields, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
	require.NoError(t, err)
	require.Equal(t, "multipart/form-data", kind)
	form := multipart.NewReader(strings.NewReader(string(got.Body)), fields["boundary"])
	part, err := form.NextPart()
	require.NoError(t, err)
	require.Equal(t, "file", part.FormName())
	require.Equal(t, "o.txt", part.FileName())
	output, err := io.ReadAll(part)
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(output), "made\n"), string(output))
	_, err = form.NextPart()
	require.ErrorIs(t, err, io.EOF)
	_, polled := w.ask("GET", "/poll/ann/lab/sub%2Fo.txt/", "")
	require.Equal(t, string(output), polled)
}

// A name that no header can hold is refused before anything runs.
func TestNamesOfOutputs(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.ready()
	for _, name := range []string{`a\nb`, `a\u0000`, `../a`, ``, `.`} {
		w.says("POST", "/addJob/ann/lab/", strings.Replace(addJob, `"output_file": "o"`, `"output_file": "`+name+`"`, 1), "output_file must name")
	}
}
