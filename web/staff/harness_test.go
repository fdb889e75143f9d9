package staff_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"drover/core/harness"
	"drover/core/school"
)

const (
	program  = "#!/bin/sh\n"
	settings = `{"drover/timeout":5}`
)

// zipped is an archive as Windows makes it: it does not tell what may be run.
func zipped(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		f, err := w.Create(pairs[i])
		require.NoError(t, err)
		_, err = f.Write([]byte(pairs[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func tarred(t *testing.T, pairs ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(pairs); i += 2 {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: pairs[i], Mode: 0o640, Size: int64(len(pairs[i+1])), Typeflag: tar.TypeReg}))
		_, err := w.Write([]byte(pairs[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func gzipped(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(raw)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func (w *fixture) stored(handle string) school.Assignment {
	w.t.Helper()
	as, err := w.reg.Store.GetAssignment(w.t.Context(), "cs101", handle)
	require.NoError(w.t, err)
	return as
}

const hw1 = "/classes/cs101/assignments/hw1"

// However a harness is packed, it is the same.
func TestHarnessIsTakenFromEveryArchive(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	require.Contains(t, w.shows("tess", hw1+"/harness"), "It has no harness")
	plain := tarred(t, "main", program, "harness.json", settings)
	digest := ""
	for name, content := range map[string][]byte{
		"h.tar": plain, "h.tar.gz": gzipped(t, plain), "h.tgz": gzipped(t, plain),
		"h.zip": zipped(t, "main", program, "harness.json", settings), "hw1.zip": zipped(t, "hw1/main", program, "hw1/harness.json", settings),
	} {
		require.Equal(t, hw1+"/harness", leads(t, w.send("tina", hw1+"/harness", newUpload().field(t, "use", "now").file(t, "archive", name, content))), name)
		as := w.stored("hw1")
		require.NotNil(t, as.Harness, name)
		if digest != "" {
			require.Equal(t, digest, as.Harness.File.Digest, name)
		}
		digest = as.Harness.File.Digest
	}
	require.Contains(t, w.shows("tess", hw1+"/harness"), "drover/timeout")
}

// What cannot be used leaves everything as it was, and says why.
func TestABadHarnessLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	for name, test := range map[string]struct {
		file    string
		content []byte
		says    string
	}{
		"nothing":          {"", nil, "Choose an archive"},
		"no archive":       {"h.tar.gz", []byte("hello"), "cannot be"},
		"cut short":        {"h.zip", zipped(t, "main", program)[:40], "cannot be"},
		"no main":          {"h.zip", zipped(t, "readme", "x"), harness.MainFile},
		"wrong settings":   {"h.zip", zipped(t, "main", program, "harness.json", "{"), "harness.json"},
		"a bomb":           {"h.tar.gz", gzipped(t, tarred(t, "main", strings.Repeat("0", harness.MaxPackBytes+1))), "64 MiB"},
		"of another place": {"h.zip", zipped(t, "../../x", program), harness.MainFile},
	} {
		text := again(t, w.send("tess", hw1+"/harness", newUpload().field(t, "use", "now").field(t, "user", "cleo"+evil).file(t, "archive", test.file, test.content)), test.says)
		require.NotContains(t, text, "<script>alert", name)
		require.Contains(t, text, `value="cleo&#34;`, name)
		require.Contains(t, text, `value="now" checked`, name)
		require.Nil(t, w.stored("hw1").Harness, name)
	}
}

func TestHarnessIsTriedFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	try := func(user string) *upload {
		return newUpload().field(t, "use", "try").field(t, "user", user).file(t, "archive", "h.zip", zipped(t, "main", program))
	}
	again(t, w.send("tess", hw1+"/harness", try("nobody")), "nobody")
	w.submit("ann", "hw1")
	at := leads(t, w.send("tess", hw1+"/harness", try("ann")))
	require.Contains(t, at, "/experiments/")
	require.Nil(t, w.stored("hw1").Harness, "it is not the assignment's yet")
	require.Contains(t, w.shows("tess", at), "ann")
	again(t, w.send("tess", hw1+"/harness", try("ann")), "apply or abort it first")

	e := w.ready(strings.TrimPrefix(at, "/experiments/"))
	again(t, w.post("tess", at+"/apply"), "Tick the box to confirm")
	require.Equal(t, at, leads(t, w.post("tess", at+"/apply", "sure", "yes")))
	require.Equal(t, e.Harness.File.Digest, w.stored("hw1").Harness.File.Digest)
}

func TestHarnessIsRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	leads(t, w.send("tess", hw1+"/harness", newUpload().field(t, "use", "now").file(t, "archive", "h.zip", zipped(t, "main", program))))
	again(t, w.post("tess", hw1+"/harness/remove"), "Tick the box to confirm")
	require.NotNil(t, w.stored("hw1").Harness)
	require.Equal(t, hw1+"/harness", leads(t, w.post("tess", hw1+"/harness/remove", "sure", "yes")))
	require.Nil(t, w.stored("hw1").Harness)
}

// Who may not send a harness is told so before it is read.
func TestHarnessOfAStrangerIsNotRead(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	for who, want := range map[string]int{"ann": http.StatusForbidden, "eve": http.StatusNotFound} {
		r := httptestPost(hw1 + "/harness")
		require.Equal(t, want, w.ask(who, r).Code)
	}
}
