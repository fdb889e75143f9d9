package blobs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"drover/core"
	"drover/core/blobs/blobstest"
	"drover/core/blobs/blobstest/s3server"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	for name, value := range s3server.Environment() {
		_ = os.Setenv(name, value) // fails for no such name
	}
	_ = os.Setenv("AWS_SHARED_CREDENTIALS_FILE", "testdata/credentials") // as above
	goleak.VerifyTestMain(m)
}

// openURL opens a store that the test closes.
func openURL(t *testing.T, url string) *Store {
	t.Helper()
	b, err := Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	s, ok := b.(*Store)
	require.True(t, ok)
	return s
}

func TestSuite(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"mem":  func(*testing.T) string { return "mem://" },
		"file": func(t *testing.T) string { return "file://" + filepath.Join(t.TempDir(), "blobs") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			blobstest.Run(t, func(t *testing.T) blobstest.Store {
				return onTrial(t, url(t))
			})
		})
	}
}

// onTrial opens a store for the suite.
func onTrial(t *testing.T, url string) blobstest.Store {
	t.Helper()
	s := openURL(t, url)
	trial := blobstest.Store{Blobs: s, Damage: func(t *testing.T, digest string, content []byte) {
		digits, err := hexOf(digest)
		require.NoError(t, err)
		require.NoError(t, s.bucket.write(t.Context(), keyOf(digits), bytes.NewReader(content), int64(len(content))))
	}}
	if url != "mem://" {
		trial.Again = func(t *testing.T) core.Blobs { return openURL(t, url) }
	}
	return trial
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for url, want := range map[string]core.Code{
		"":                          core.CodeInvalid,
		"/var/blobs":                core.CodeInvalid,
		"s3://key:secret@bucket":    core.CodeInvalid,
		"mem://x":                   core.CodeInvalid,
		"file://":                   core.CodeInvalid,
		"file://x?create_dir=1":     core.CodeInvalid,
		"file:///nowhere/at/all":    core.CodeInvalid,
		"file://" + file:            core.CodeUnavailable,
		"file://" + file + "/below": core.CodeUnavailable,
	} {
		_, err := Open(t.Context(), url)
		require.Error(t, err, url)
		require.Equal(t, want, core.CodeOf(err), url)
		require.NotContains(t, err.Error(), "secret")
	}
	_, err := Open(t.Context(), "gs://bucket")
	require.ErrorContains(t, err, "file://PATH, s3://BUCKET?region=REGION, mem://")
}

func TestFilesAreTheirOwnersAlone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "blobs")
	s := openURL(t, "file://"+root)
	for _, n := range []int{10, 3 << 20} {
		_, _, err := s.Put(t.Context(), bytes.NewReader(make([]byte, n)), 10<<20)
		require.NoError(t, err)
	}
	require.NoError(t, s.Ping(t.Context()))
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if d.IsDir() {
			require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), path)
			return nil
		}
		files++
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), path)
		return nil
	}))
	require.Equal(t, 3, files, "nothing but the two files and the ping")
}

func TestSurvivesReopening(t *testing.T) {
	t.Parallel()
	url := "file://" + filepath.Join(t.TempDir(), "blobs")
	digest, _, err := openURL(t, url).Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	r, err := openURL(t, url).Open(t.Context(), digest)
	require.NoError(t, err)
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "content", string(got))
}

func TestPutAgainIsNew(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "blobs")
	s := openURL(t, "file://"+root)
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	path := filepath.Join(root, filepath.FromSlash(keyOf(strings.TrimPrefix(digest, scheme))))
	old := time.Now().Add(-48 * time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	stored := func() (at int64) {
		require.NoError(t, s.Each(t.Context(), func(_ string, _, stored int64) error { at = stored; return nil }))
		return at
	}
	require.Equal(t, old.UnixMilli(), stored())
	_, _, err = s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), time.UnixMilli(stored()), time.Hour)
}

func TestEachRemovesWhatDeadWritersLeft(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "blobs")
	s := openURL(t, "file://"+root)
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	path := filepath.Join(root, filepath.FromSlash(keyOf(strings.TrimPrefix(digest, scheme))))
	old := time.Now().Add(-2 * stranded)
	for name, keep := range map[string]bool{path + ".18.tmp": false, path + ".19.tmp": true, path + ".other": true, path: true} {
		if name != path {
			require.NoError(t, os.WriteFile(name, []byte("half"), 0o600))
		}
		if !keep || name == path {
			require.NoError(t, os.Chtimes(name, old, old))
		}
	}
	seen := []string{}
	require.NoError(t, s.Each(t.Context(), func(digest string, _, _ int64) error { seen = append(seen, digest); return nil }))
	require.Equal(t, []string{digest}, seen)
	require.NoFileExists(t, path+".18.tmp")
	require.FileExists(t, path+".19.tmp", "somebody may be writing it")
	require.FileExists(t, path+".other", "not ours")
	require.FileExists(t, path)
}

func TestOutage(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "blobs")
	s := openURL(t, "file://"+root)
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	require.NoError(t, os.Rename(root, root+".away"))
	require.NoError(t, os.WriteFile(root, nil, 0o600))
	require.Equal(t, core.CodeUnavailable, core.CodeOf(s.Ping(t.Context())))
	for _, n := range []int{10, 3 << 20} {
		_, _, err = s.Put(t.Context(), bytes.NewReader(make([]byte, n)), 10<<20)
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
	}
	_, err = s.Open(t.Context(), digest)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
	require.NoError(t, os.Remove(root))
	require.NoError(t, os.Rename(root+".away", root))
	require.NoError(t, s.Ping(t.Context()))
	r, err := s.Open(t.Context(), digest)
	require.NoError(t, err)
	require.NoError(t, r.Close())
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"mem://", "file://" + filepath.Join(t.TempDir(), "blobs")} {
		s := openURL(t, url)
		half := errors.New("half")
		digits := strings.Repeat("ab", 32)
		broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(half))
		require.ErrorIs(t, s.bucket.write(t.Context(), keyOf(digits), broken, 100), half)
		_, err := s.Open(t.Context(), scheme+digits)
		require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
		objects, err := s.list(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, objects, "no temporary file either")
	}
}

// A stream that is longer or shorter than the store said does not pass, though
// what came first has the digest.
func TestVerifyCounts(t *testing.T) {
	t.Parallel()
	digits := strings.TrimPrefix(blobstest.Digest([]byte("abc")), scheme)
	for _, c := range []struct {
		stream string
		size   int64
		ok     bool
	}{{"abc", 3, true}, {"abc", 4, false}, {"abc", 2, false}, {"abcd", 3, false}, {"ab", 3, false}, {"", 3, false}} {
		for _, r := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream)), iotest.DataErrReader(strings.NewReader(c.stream))} {
			got, err := io.ReadAll(verify(io.NopCloser(r), digits, c.size))
			if c.ok {
				require.NoError(t, err)
				require.Equal(t, "abc", string(got))
				continue
			}
			require.ErrorContains(t, err, "damaged", "%+v", c)
		}
	}
}
