package problem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core/harness"
	"drover/core/harness/handout"
	"drover/core/harness/problem"
)

// packaged opens a package of files: paths and contents in turn, besides what each package needs.
func packaged(t *testing.T, pairs ...string) *problem.Problem {
	t.Helper()
	dir := t.TempDir()
	for i, all := 0, append(pairs, "problem.yaml", "name: Shown\n", "data/secret/1.in", "secret", "data/secret/1.ans", "x"); i < len(all); i += 2 {
		at := filepath.Join(dir, all[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		require.NoError(t, os.WriteFile(at, []byte(all[i+1]), 0o600))
	}
	return open(t, dir)
}

// Statements in all languages, samples and attachments arrive in the handout of the harness, and nothing secret does.
func TestHandoutOfAPackage(t *testing.T) {
	t.Parallel()
	p := packaged(t,
		"problem_statement/problem.en.md", "Add.\n\n{{nextsample}}\n\n![dots](dots.png)\n", "problem_statement/problem.de.html", "<p>Addiere.</p>",
		"problem_statement/problem.en.tex", `\problemname{Shown}`, "problem_statement/problem.en.pdf", "%PDF-1.4", "problem_statement/problem.sv.tex", "Addera",
		"problem_statement/dots.png", "\x89PNG", "problem_statement/notes.txt", "private",
		"data/sample/2.in", "2\n", "data/sample/2.ans", "2\n", "data/sample/2.in.statement", "two\n", "data/sample/2.desc", "Two.", "data/sample/2.hint", "Not one.",
		"data/sample/10.in", "x\n", "data/sample/10.ans", "y\n", "data/sample/10.interaction", "<x\n>y\n",
		"attachments/lib/add.py", "pass\n", "submissions/accepted/a.py", "secret",
	)
	dir := t.TempDir()
	require.NoError(t, p.Write(dir))
	pack, err := harness.Pack(dir)
	require.NoError(t, err)
	page, files, err := handout.Read(pack.Folder)
	require.NoError(t, err)
	assert.Equal(t, []handout.Statement{
		{Language: "de", HTML: "<p>Addiere.</p>"},
		{Language: "en", Markdown: "Add.\n\n\n\n![dots](dots.png)\n", PDF: "statement/problem.en.pdf"},
	}, page.Statements)
	assert.Equal(t, []handout.Sample{
		{Name: "2", About: "Two.\n\nNot one.", Parts: []handout.Part{
			{Kind: "in", Path: "samples/2.in", Size: 4, Text: "two\n"}, {Kind: "ans", Path: "samples/2.ans", Size: 2, Text: "2\n"},
		}},
		{Name: "10", Parts: []handout.Part{{Kind: "interaction", Path: "samples/10.interaction", Size: 6, Text: "<x\n>y\n"}}},
	}, page.Samples)
	assert.Equal(t, []string{"attachments/lib/add.py"}, page.Attachments)
	for _, f := range files {
		assert.NotContains(t, string(f.Content), "secret", f.Path)
		assert.NotContains(t, string(f.Content), "private", f.Path)
	}
	notes := fmt.Sprint(p.Notes)
	assert.Contains(t, notes, "problem_statement/problem.en.tex: LaTeX is not rendered; students get problem_statement/problem.en.pdf")
	assert.Contains(t, notes, "problem_statement/problem.sv.tex: LaTeX is not rendered: put a PDF of it beside it, as problem.sv.pdf")
}

// What a handout has no room for is named, and a package without a statement says so.
func TestHandoutIsBounded(t *testing.T) {
	t.Parallel()
	var pairs []string
	for i := range handout.MaxFiles + 1 {
		pairs = append(pairs, fmt.Sprintf("attachments/%03d", i), "")
	}
	p := packaged(t, pairs...)
	assert.Contains(t, fmt.Sprint(p.Notes), "statement: there is no statement in Markdown, HTML or PDF")
	assert.Contains(t, fmt.Sprint(p.Notes), "attachments/100: it is not shown to students")
	dir := t.TempDir()
	require.NoError(t, p.Write(dir))
	pack, err := harness.Pack(dir)
	require.NoError(t, err)
	_, files, err := handout.Read(pack.Folder)
	require.NoError(t, err)
	assert.Len(t, files, handout.MaxFiles)
}
