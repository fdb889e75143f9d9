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
		"a bomb":           {"h.tar.gz", gzipped(t, tarred(t, "main", strings.Repeat("0", harness.MaxProgramBytes+1))), "64 MiB"},
		"of another place": {"h.zip", zipped(t, "../../x", program), harness.MainFile},
	} {
		text := again(t, w.send("tess", hw1+"/harness", newUpload().field(t, "use", "now").file(t, "archive", test.file, test.content)), test.says)
		require.NotContains(t, text, "<script>alert", name)
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
	text := again(t, w.send("tess", hw1+"/harness", try("nobody")), "nobody")
	require.Contains(t, text, "It is valid", "what was chosen is not lost")
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

// A harness can be checked first: its tests and warnings are shown, and it waits for the decision.
func TestHarnessIsChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	w.submit("ann", "hw1")
	const tests = "run: ./a.out\ntimeout: 1h\ntests:\n- {name: tiny, output: x, points: 2}\n- {visibility: hidden, output: y, when: final}\n"
	b := w.browser("root")
	require.Contains(t, b.shows(hw1+"/harness/new"), "No harness waits here")
	at := leads(t, b.send(hw1+"/harness", newUpload().field(t, "use", "check").file(t, "archive", "h.zip", zipped(t, "cases.yaml", tests, "data/in", "1"))))
	text := b.shows(at)
	for _, want := range []string{"2 tests", "3 points", "tiny", "<code>trimmed</code>", "that counts", "without names: test 2", "data/in", `value="ann"`, "Try it on everybody", ">always</td>"} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 1, strings.Count(text, ">final only<"))
	require.Nil(t, w.stored("hw1").Harness, "nothing has changed")
	again(t, b.post(at, "use", "try", "user", "root"), "root")
	again(t, b.post(at), "Say what is to be done")
	require.Contains(t, w.browser("tess").shows(at), "No harness waits here", "it is another's")
	trial := leads(t, b.post(at, "use", "all"))
	require.Contains(t, w.shows("tess", trial), "newest submission of every user")
	e, err := w.reg.Store.GetExperiment(t.Context(), strings.TrimPrefix(trial, "/experiments/"))
	require.NoError(t, err)
	require.Empty(t, e.Users)
	require.NotNil(t, e.Harness)
	require.Contains(t, b.shows(at), "No harness waits here", "it was used")
}

// The tests are changed on the page: what is wrong is told at its line, and another's change is not lost.
func TestCasesAreEdited(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	at := hw1 + "/harness/cases"
	require.Contains(t, w.shows("tess", at), "an example", "it begins with an example")
	const first = "run: ./a.out\ntests:\n- {name: tiny, output: x}\n"
	leads(t, w.send("tess", hw1+"/harness", newUpload().field(t, "use", "now").file(t, "archive", "h.zip", zipped(t, "cases.yaml", first, "data/in", "1"))))
	was := w.stored("hw1").Harness.File.Digest
	text := w.shows("tess", at)
	require.Contains(t, text, "{name: tiny, output: x}")
	require.Contains(t, text, was)
	const second = "run: ./a.out\ntests:\n- name: small\n  input: {file: data/in}\n  output: x\n"
	text = again(t, w.post("tess", at, "was", was, "do", "save", "text", second+"  colour: red\n"), "line 6")
	require.Contains(t, text, `<li value="6" class="err"`)
	require.Contains(t, text, "colour: red")
	text = w.post("tess", at, "was", was, "do", "check", "text", strings.ReplaceAll(second, "\n", "\r\n")).Body.String()
	require.Contains(t, text, "Nothing is saved yet")
	require.Contains(t, text, ">small")
	require.Equal(t, was, w.stored("hw1").Harness.File.Digest)
	leads(t, w.post("tess", at, "was", was, "do", "save", "text", second))
	require.Equal(t, second, w.get("tess", hw1+"/harness/files/cases.yaml").Body.String())
	require.Equal(t, "1", w.get("tess", hw1+"/harness/files/data/in").Body.String(), "other files stay")
	p, err := harness.Read(w.get("tess", hw1+"/harness/files/harness.tar").Body)
	require.NoError(t, err)
	require.Equal(t, "small", p.Cases.Tests()[0].Name)
	text = again(t, w.post("tina", at, "was", was, "do", "save", "text", first), "was changed since you began")
	require.Contains(t, text, "{name: tiny, output: x}", "what was typed is still there")
	require.Equal(t, http.StatusNotFound, w.get("tess", hw1+"/harness/files/none").Code)
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
