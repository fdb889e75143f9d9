package agent_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
)

// entry is one entry of a test's archive.
type entry struct {
	tar.Header
	data string
}

func file(name, data string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(data))}, data}
}

func folder(name string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}}
}

func link(kind byte, name, to string) entry {
	return entry{Header: tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o777}}
}

// archive makes a tar stream.
func archive(t testing.TB, entries ...entry) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		require.NoError(t, w.WriteHeader(&e.Header))
		_, err := io.WriteString(w, e.data)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return &b
}

func TestStage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, kind string) {
		v := assigned(t, kind, nil)
		script, secretive, open := file("bin/run", "#!/bin/sh\necho $(cat ../data/in) $1\n"), file("own", "x"), file("open", "y")
		script.Mode, secretive.Mode, open.Mode = 0o755, 0o000, 0o6777
		dark := folder("dark/")
		dark.Mode = 0
		require.NoError(t, v.client.Stage(context.Background(), "harness", archive(t,
			entry{Header: tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "x"}}},
			folder("./"), script, folder("./data"), file("./data/in", "hello"), secretive, open, file("empty", ""), folder("a/b/c/"), dark,
			file("large", strings.Repeat("0123456789", 100_000)), file("name with ünïcode -", "z"))))
		exit, o := v.sh(t, "./run you; cd ..; find . -printf '%m %U %y %p\\n' | LC_ALL=C sort -k4; wc -c <large",
			func(r *agent.Run) { r.Dir = v.home + "/harness/bin" })
		require.Zero(t, exit.Code, string(o.err))
		assert.Equal(t, fmt.Sprintf(`hello you
700 %[1]d d .
755 %[1]d d ./a
755 %[1]d d ./a/b
755 %[1]d d ./a/b/c
755 %[1]d d ./bin
755 %[1]d f ./bin/run
700 %[1]d d ./dark
755 %[1]d d ./data
644 %[1]d f ./data/in
644 %[1]d f ./empty
644 %[1]d f ./large
644 %[1]d f ./name with ünïcode -
755 %[1]d f ./open
600 %[1]d f ./own
1000000
`, v.uid), string(o.out))
		require.NoError(t, v.client.Stage(context.Background(), "submission", archive(t)), "an empty archive is one")
		err := v.client.Stage(context.Background(), "harness", archive(t, file("more", "")))
		assert.Equal(t, core.CodeConflict, core.CodeOf(err), "a place takes one archive: %v", err)
		err = v.client.Stage(context.Background(), "submission", archive(t, file("more", "")))
		assert.Equal(t, core.CodeConflict, core.CodeOf(err), "an empty one, too: %v", err)
	})
}

// G29 and probes 8 to 12: what is refused is refused whole.
func TestStageRefuses(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, func(c *agent.Config) { c.Limits.Disk = 1 << 20 })
	place := filepath.Join(v.home, "work")
	deep := strings.Repeat("d/", 33) + "f"
	fan := make([]entry, 0, 300)
	for i := range 300 {
		fan = append(fan, file(fmt.Sprintf("%d/%s", i, deep[len(deep)-59:]), ""))
	}
	for name, c := range map[string]struct {
		code    core.Code
		entries []entry
	}{
		"absolute":              {core.CodeInvalid, []entry{file("/etc/passwd", "x")}},
		"absolute folder":       {core.CodeInvalid, []entry{folder("/etc/")}},
		"absolute behind dot":   {core.CodeInvalid, []entry{file(".//etc/passwd", "x")}},
		"parent":                {core.CodeInvalid, []entry{file("../up", "x")}},
		"parent inside":         {core.CodeInvalid, []entry{file("a/../../up", "x")}},
		"parent at the end":     {core.CodeInvalid, []entry{folder("a/..")}},
		"dot inside":            {core.CodeInvalid, []entry{file("a/./b", "x")}},
		"file called dot":       {core.CodeInvalid, []entry{file(".", "x")}},
		"empty part":            {core.CodeInvalid, []entry{file("a//b", "x")}},
		"symbolic link":         {core.CodeInvalid, []entry{link(tar.TypeSymlink, "l", "/etc/passwd")}},
		"link, then through it": {core.CodeInvalid, []entry{link(tar.TypeSymlink, "l", "/tmp"), file("l/x", "x")}},
		"hard link":             {core.CodeInvalid, []entry{file("f", "x"), link(tar.TypeLink, "l", "f")}},
		"pipe":                  {core.CodeInvalid, []entry{link(tar.TypeFifo, "p", "")}},
		"character device":      {core.CodeInvalid, []entry{link(tar.TypeChar, "c", "")}},
		"block device":          {core.CodeInvalid, []entry{link(tar.TypeBlock, "b", "")}},
		"twice":                 {core.CodeInvalid, []entry{file("f", "x"), file("f", "y")}},
		"twice by another name": {core.CodeInvalid, []entry{file("f", "x"), file("./f", "y")}},
		"folder twice":          {core.CodeInvalid, []entry{folder("d/"), folder("d")}},
		"file as folder":        {core.CodeInvalid, []entry{file("f", "x"), file("f/g", "y")}},
		"folder as file":        {core.CodeInvalid, []entry{file("f/g", "x"), file("f", "y")}},
		"named folder as file":  {core.CodeInvalid, []entry{folder("f"), file("f", "y")}},
		"control character":     {core.CodeInvalid, []entry{file("a\x1b[31mb", "x")}},
		"new line":              {core.CodeInvalid, []entry{file("a\nb", "x")}},
		"long part":             {core.CodeLimit, []entry{file(strings.Repeat("x", 256), "x")}},
		"long name":             {core.CodeLimit, []entry{file(strings.Repeat("x/", 10)+strings.Repeat("y", 500), "x")}},
		"deep":                  {core.CodeLimit, []entry{file(deep, "x")}},
		"many, most implied":    {core.CodeLimit, fan},
		"one large":             {core.CodeLimit, []entry{file("f", strings.Repeat("x", 1<<20+1))}},
		"large together":        {core.CodeLimit, []entry{file("f", strings.Repeat("x", 1<<19)), file("g", strings.Repeat("x", 1<<19)), file("h", "x")}},
	} {
		good := []entry{file("good/one", "1"), folder("good/two")}
		err := v.client.Stage(context.Background(), "work", archive(t, append(good, c.entries...)...))
		require.Error(t, err, name)
		assert.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
		left, err := os.ReadDir(place)
		require.NoError(t, err)
		assert.Empty(t, left, "%s: the place is empty again", name)
	}
	_, err := os.Stat(filepath.Join(v.home, "up"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	require.NoError(t, v.client.Stage(context.Background(), "work", archive(t, file("f", "x"))), "a refusal does not use the place up")
}

// Streams that are no archives, break off, or fail by themselves.
func TestStageBroken(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	whole, err := io.ReadAll(archive(t, file("a", "1"), file("b", strings.Repeat("x", 100_000))))
	require.NoError(t, err)
	sparse := bytes.Clone(whole)
	sparse[156] = tar.TypeGNUSparse
	record := file("f", "hello") // the writer refuses to write what an attacker would
	record.PAXRecords = map[string]string{"XXX.sparse.size": "5"}
	records, err := io.ReadAll(archive(t, record))
	require.NoError(t, err)
	records = bytes.ReplaceAll(records, []byte("XXX.sparse"), []byte("GNU.sparse"))
	mistake := errors.New("the disk of the host is broken")
	own := func(err error) bool { return errors.Is(err, mistake) && !isInvalid(err) } // not the archive's fault
	for name, c := range map[string]struct {
		stream io.Reader
		want   func(error) bool
	}{
		"noise":          {bytes.NewReader(bytes.Repeat([]byte("noise"), 1000)), isInvalid},
		"zip":            {strings.NewReader("PK\x03\x04" + strings.Repeat("\x00", 1000)), isInvalid},
		"cut in a head":  {bytes.NewReader(whole[:300]), isInvalid},
		"cut in a file":  {bytes.NewReader(whole[:50_000]), isInvalid},
		"bad checksum":   {bytes.NewReader(append([]byte("x"), whole[1:]...)), isInvalid},
		"sparse":         {bytes.NewReader(sparse), isInvalid},
		"sparse records": {bytes.NewReader(records), isInvalid},
		"fails itself":   {io.MultiReader(bytes.NewReader(whole[:50_000]), iotest.ErrReader(mistake)), own},
		"fails at once":  {iotest.ErrReader(mistake), own},
		"one byte reads": {io.MultiReader(iotest.OneByteReader(bytes.NewReader(whole[:3000])), iotest.ErrReader(mistake)), own},
	} {
		err := v.client.Stage(context.Background(), "work", c.stream)
		assert.True(t, c.want(err), "%s: %v", name, err)
		left, err := os.ReadDir(filepath.Join(v.home, "work"))
		require.NoError(t, err)
		assert.Empty(t, left, name)
	}
	err = v.client.Stage(context.Background(), "elsewhere", archive(t))
	assert.Equal(t, core.CodeInvalid, core.CodeOf(err))
	require.NoError(t, v.client.Stage(context.Background(), "work", iotest.HalfReader(bytes.NewReader(whole))))
}

func isInvalid(err error) bool { return core.Is(err, core.CodeInvalid) }

// The host gives up in the middle: nothing of the archive is left.
func TestStageGivenUp(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	whole, err := io.ReadAll(archive(t, file("a", "1"), file("b", strings.Repeat("x", 100_000))))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	go func() {
		_, _ = w.Write(whole[:60_000])
		for {
			if left, err := os.ReadDir(filepath.Join(v.home, "work")); err != nil || len(left) == 2 {
				break
			}
		}
		cancel()
		_ = w.Close()
	}()
	err = v.client.Stage(ctx, "work", r)
	require.ErrorIs(t, err, context.Canceled)
	require.Eventually(t, func() bool {
		left, err := os.ReadDir(filepath.Join(v.home, "work"))
		return err == nil && len(left) == 0
	}, eventually, eventually/1000)
	require.NoError(t, r.Close())
}

// What user code left in a place does not mix with what is staged, and what it
// put in the place's stead is not followed.
func TestStageAfterUserCode(t *testing.T) {
	t.Parallel()
	v := assigned(t, plain, nil)
	v.sh(t, "touch $HOME/work/mine", nil)
	err := v.client.Stage(context.Background(), "work", archive(t, file("f", "x")))
	assert.Equal(t, core.CodeConflict, core.CodeOf(err), "%v", err)

	away := t.TempDir()
	require.NoError(t, os.Rename(filepath.Join(v.home, "harness"), filepath.Join(v.home, "moved")))
	require.NoError(t, os.Symlink(away, filepath.Join(v.home, "harness")))
	require.NoError(t, v.client.Stage(context.Background(), "harness", archive(t, file("f", "x"))))
	assert.NoFileExists(t, filepath.Join(away, "f"))
	assert.FileExists(t, filepath.Join(v.home, "moved", "f"))
}

// A disk that fills up is a limit, and the place is empty again.
func TestStageDiskFull(t *testing.T) {
	t.Parallel()
	v := prepare(t, single, func(c *agent.Config) { c.Limits.Disk = 64 << 20 })
	v.cmd.Env = append(v.cmd.Env, diskEnv+"="+v.home)
	v.boot(t)
	require.NoError(t, v.client.Assign(context.Background(), "a"))
	err := v.client.Stage(context.Background(), "work", archive(t, file("small", "x"), file("f", strings.Repeat("x", 2<<20))))
	assert.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)
	_, o := v.sh(t, "ls -A; df -k --output=used . | tail -1", nil)
	assert.Equal(t, "0", strings.TrimSpace(string(o.out)))
}
