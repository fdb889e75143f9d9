package classes_test

import (
	"archive/zip"
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/harness"
	"drover/core/school"
)

// explain gives an assignment a harness with a handout, of paths and contents in turn.
func (w *fixture) explain(handle string, pairs ...string) {
	w.t.Helper()
	files := map[string]pack.File{"main": {Run: true, Content: []byte("#!/bin/sh\n")}}
	for i := 0; i < len(pairs); i += 2 {
		files["handout/"+pairs[i]] = pack.File{Content: []byte(pairs[i+1])}
	}
	p, err := harness.PackFiles(files)
	require.NoError(w.t, err)
	_, err = w.reg.SetHarness(w.t.Context(), w.as("tess"), "cs101", handle, p.Tar())
	require.NoError(w.t, err)
}

// Students see of a harness what is in its folder handout, and nothing else. A harness without the folder takes it away.
func TestHandout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.assignment("hw1")
	page, _, err := w.reg.ViewHandout(ctx, w.as("ann"), "cs101", "hw1")
	require.NoError(t, err)
	require.Nil(t, page)

	w.explain("hw1", "statement/problem.en.md", "Do *it*.", "attachments/a.txt", "hello", "samples/1.in", "1\n")
	page, sizes, err := w.reg.ViewHandout(ctx, w.as("ann"), "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, "Do *it*.", page.Statements[0].Markdown)
	require.Equal(t, map[string]int64{"statement/problem.en.md": 8, "attachments/a.txt": 5, "samples/1.in": 2}, sizes)
	f, content, err := w.reg.OpenHandout(ctx, w.as("ann"), "cs101", "hw1", "attachments/a.txt")
	require.NoError(t, err)
	text, err := io.ReadAll(content)
	require.NoError(t, err)
	require.NoError(t, content.Close())
	require.Equal(t, "hello", string(text))
	require.Equal(t, int64(5), f.Size)
	for _, path := range []string{"main", "../main", ".page", "", "attachments"} {
		_, _, err = w.reg.OpenHandout(ctx, w.as("ann"), "cs101", "hw1", path)
		requireCode(t, core.CodeNotFound, err)
	}
	samples, err := w.reg.ZipSamples(ctx, w.as("ann"), "cs101", "hw1")
	require.NoError(t, err)
	require.Equal(t, "cs101-hw1-samples.zip", samples.Name)
	var packed bytes.Buffer
	require.NoError(t, samples.Write(ctx, &packed))
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	require.NoError(t, err)
	require.Len(t, z.File, 1)
	require.Equal(t, "1.in", z.File[0].Name)
	entry, err := w.reg.ViewAssignment(ctx, w.as("ann"), "cs101", "hw1")
	require.NoError(t, err)
	require.Nil(t, entry.Harness)

	_, err = w.reg.SetHarness(ctx, w.as("tess"), "cs101", "hw1", bytes.NewReader(harnessTar(t)))
	require.NoError(t, err)
	_, _, err = w.reg.OpenHandout(ctx, w.as("ann"), "cs101", "hw1", "attachments/a.txt")
	requireCode(t, core.CodeNotFound, err)
	_, err = w.reg.ZipSamples(ctx, w.as("ann"), "cs101", "hw1")
	requireCode(t, core.CodeNotFound, err)
}

// An assignment and its harness are made together or not at all.
func TestCreateGraded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx, tess := t.Context(), w.as("tess")
	as := school.Assignment{Class: "cs101", Handle: "hw1", Title: "New", Pool: pool}
	_, err := w.reg.CreateGraded(ctx, tess, as, strings.NewReader("no archive"))
	requireCode(t, core.CodeInvalid, err)
	files := map[string]pack.File{"main": {Run: true}, "handout/.hidden": {}}
	bad, err := harness.PackFiles(files)
	require.NoError(t, err)
	_, err = w.reg.CreateGraded(ctx, tess, as, bad.Tar())
	requireCode(t, core.CodeInvalid, err)
	_, err = w.reg.ViewAssignment(ctx, tess, "cs101", "hw1")
	requireCode(t, core.CodeNotFound, err)
	made, err := w.reg.CreateGraded(ctx, tess, as, bytes.NewReader(harnessTar(t)))
	require.NoError(t, err)
	require.NotNil(t, made.Harness)
	_, err = w.reg.CreateGraded(ctx, tess, as, bytes.NewReader(harnessTar(t)))
	requireCode(t, core.CodeConflict, err)
}
