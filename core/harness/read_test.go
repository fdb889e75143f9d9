package harness_test

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
	"drover/core/school"
)

// What Pack makes of a folder, Read takes for the same.
func TestRead_TakesWhatPackMakes(t *testing.T) {
	t.Parallel()
	const cases = "run: ./a.out\ngroups:\n- name: all\n  tests:\n  - {name: one, output: x}\n"
	for name, content := range map[string]map[string]string{
		"a program":       {"main": "#!/bin/sh\n", "lib/a.txt": "a"},
		"with settings":   {"main": "#!/bin/sh\n", "harness.json": `{"drover/timeout":5}`},
		"tests":           {"cases.yaml": cases},
		"tests, settings": {"cases.yaml": cases, "harness.json": `{"colour":"blue"}`},
	} {
		dir := t.TempDir()
		for path, text := range content {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o755))
		}
		packed, err := harness.Pack(dir)
		require.NoError(t, err, name)
		read, err := harness.Read(packed.Tar())
		require.NoError(t, err, name)
		assert.Equal(t, packed, read, name)
	}
}

// tarOf writes an archive as nobody but Pack should: sorted, without times and owners.
func tarOf(t *testing.T, mode int64, pairs ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(pairs); i += 2 {
		h := &tar.Header{Name: pairs[i], Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(pairs[i+1])), Format: tar.FormatPAX}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(pairs[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestRead_Refuses(t *testing.T) {
	t.Parallel()
	for says, archive := range map[string][]byte{
		"cannot be used":        []byte("#!/bin/sh\n"),
		"neither main":          tarOf(t, 0o644, "readme", "x"),
		"not executable":        tarOf(t, 0o644, "main", "x"),
		"is not JSON":           tarOf(t, 0o755, "harness.json", "{", "main", "x"),
		"longer than":           tarOf(t, 0o755, "harness.json", strings.Repeat(" ", harness.MaxConfigSize+1), "main", "x"),
		"cases.yaml":            tarOf(t, 0o644, "cases.yaml", "tests: ["),
		"\"../main\" leads out": tarOf(t, 0o755, "../main", "x"),
	} {
		_, err := harness.Read(bytes.NewReader(archive))
		require.Error(t, err, says)
		assert.Contains(t, []core.Code{core.CodeInvalid, core.CodeLimit}, core.CodeOf(err), says)
		assert.Contains(t, err.Error(), says)
	}
}

// A harness gets its assignment and submission, also in a rerun by another user.
func TestInputFor(t *testing.T) {
	t.Parallel()
	as := school.Assignment{
		Class: "cs101", Handle: "hw1", Title: "Sorting", Due: 1_700_000_000_000, Cutoff: 1_700_000_060_000,
		Harness: &school.Harness{File: core.File{Digest: "sha256:aa"}, Config: json.RawMessage(`{"drover/actions":{"final":["f"]}}`)},
	}
	s := school.Submission{ID: "01abc", Class: "cs101", Assignment: "hw1", User: "ann", Kind: harness.TestFinal, At: 1_699_999_999_000}
	spec := core.Spec{ID: "01rerun", Submitter: "experiment-cs101", Assignment: "experiment:1", Submitted: 1_800_000_000_000, Harness: &as.Harness.File}
	in, err := harness.ParseInput(harness.InputFor(as, s))
	require.NoError(t, err)
	raw, err := in.Stdin(&spec, at, nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{
		"raw_harness": {"id": "sha256:aa", "config": {"drover/actions":{"final":["f"]}}, "harness_path": "/h"},
		"raw_submission": {
			"id": "01abc", "assignment": "cs101/hw1", "user": "ann", "timestamp": "2023-11-14T22:13:19.000Z", "most_recent": null,
			"test_type": "final", "test_results": null, "test_request_timestamp": "2027-01-15T08:00:00.000Z"
		},
		"raw_assignment": {
			"id": "cs101/hw1", "name": "Sorting", "due": "2023-11-14T22:13:20.000Z", "due_cutoff": "2023-11-14T22:14:20.000Z", "hide_until": null,
			"test_harness": "sha256:aa"
		},
		"testables_directory": "/s", "harness_directory": "/h", "actions": ["f"]
	}`, string(raw))

	as.Harness = &school.Harness{Stock: true}
	in, err = harness.ParseInput(harness.InputFor(as, s))
	require.NoError(t, err)
	assert.True(t, in.Stock)
}
