package problem_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
	"drover/core/harness/problem"
)

// part is a file of an archive, or a link.
type part struct {
	name, text, link string
	hard             bool
}

func tarred(t *testing.T, parts ...part) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, p := range parts {
		h := &tar.Header{Name: p.name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(p.text)), Linkname: p.link}
		switch {
		case p.hard:
			h.Typeflag = tar.TypeLink
		case p.link != "":
			h.Typeflag = tar.TypeSymlink
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := w.Write([]byte(p.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

func zipped(t *testing.T, parts ...part) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, p := range parts {
		h := &zip.FileHeader{Name: p.name}
		h.SetMode(0o644)
		if p.link != "" {
			h.SetMode(fs.ModeSymlink | 0o777)
			p.text = p.link
		}
		f, err := w.CreateHeader(h)
		require.NoError(t, err)
		_, err = f.Write([]byte(p.text))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// A package is the same in a folder, a tar and a zip, below a top folder or not, with its links; nothing of it stays.
func TestPackagesInArchives(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Cleanup(func() { // after packages are closed
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		for _, e := range left {
			require.NotContains(t, e.Name(), "problem")
		}
	})
	plain := []part{{name: "problem.yaml", text: settings}, {name: "data/secret/1.in", text: "1\n"}, {name: "data/secret/1.ans", text: "2\n"}}
	links := append(plain[:3:3], part{name: "data/secret/2.in", link: "1.in"}, part{name: "data/secret/2.ans", link: "../secret/1.ans"})
	below := []part{{name: "double/problem.yaml", text: settings}, {name: "double/data/secret/1.in", text: "1\n"}, {name: "double/data/secret/1.ans", text: "2\n"}}
	for name, test := range map[string]struct {
		packed []byte
		tests  int
	}{
		"tar":        {tarred(t, plain...), 1},
		"zip":        {zipped(t, plain...), 1},
		"links":      {tarred(t, links...), 2},
		"zip links":  {zipped(t, links...), 2},
		"hard links": {tarred(t, append(plain[:3:3], part{name: "data/secret/2.in", link: "data/secret/1.in", hard: true}, part{name: "data/secret/2.ans", link: "./data/secret/1.ans", hard: true})...), 2},
		"below":      {tarred(t, below...), 1},
	} {
		p, err := problem.Read("double.tgz", bytes.NewReader(test.packed))
		require.NoError(t, err, name)
		require.NoError(t, p.Check(), name)
		made := t.TempDir()
		require.NoError(t, p.Write(made), name)
		require.NoError(t, p.Close(), name)
		pack, err := harness.Pack(made)
		require.NoError(t, err, name)
		all := pack.Cases.Tests()
		require.Len(t, all, test.tests, name)
		for _, one := range all {
			text, err := one.Output.Read(pack.Folder, 10)
			require.NoError(t, err)
			assert.Equal(t, "2\n", string(text), name)
		}
		file := filepath.Join(t.TempDir(), "double")
		require.NoError(t, os.WriteFile(file, test.packed, 0o600))
		require.NoError(t, open(t, file).Check(), "the file of "+name)
	}
}

// No archive of a package reads or writes outside of its folder.
func TestArchivesThatHarm(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	base := []part{{name: "problem.yaml", text: settings}, {name: "data/secret/1.ans", text: "2\n"}}
	for name, more := range map[string][]part{
		"an absolute link":   {{name: "data/secret/1.in", link: secret}},
		"a link out":         {{name: "data/secret/1.in", link: "../../../../../../../.." + secret}},
		"a hard link":        {{name: "data/secret/1.in", link: secret, hard: true}},
		"a link to a link":   {{name: "a", link: filepath.Dir(secret)}, {name: "data/secret/1.in", link: "../../a/secret"}},
		"a loop":             {{name: "data/secret/1.in", link: "1.in"}},
		"below a link":       {{name: "data/secret/1.in", text: "1"}, {name: "a", link: filepath.Dir(secret)}, {name: "a/secret", text: "overwritten"}},
		"over a link":        {{name: "data/secret/1.in", text: "1"}, {name: "b", link: secret}, {name: "b", text: "overwritten"}},
		"out of its folder":  {{name: "../x", text: "x"}},
		"no settings at all": nil,
	} {
		all := append(base[:2:2], more...)
		if more == nil {
			all = all[1:]
		}
		p, err := problem.Read("x.tar", bytes.NewReader(tarred(t, all...)))
		if err == nil {
			err = p.Check()
			require.NoError(t, p.Close())
		}
		assert.Equal(t, core.CodeInvalid, core.CodeOf(err), "%s: %v", name, err)
	}
	kept, err := os.ReadFile(secret)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(kept))
}
