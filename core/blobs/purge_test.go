package blobs

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs/blobstest"
)

const day = 24 * time.Hour

func nobody(string) bool { return false }

// purged purges as if it were so many days later.
func purged(t *testing.T, s core.Blobs, days int, keep func(string) bool) core.Purged {
	t.Helper()
	p, err := s.Purge(t.Context(), time.Now().Add(time.Duration(days)*day), day, keep)
	require.NoError(t, err)
	return p
}

// Killed between the copy and the deletion, in either direction, a purge leaves a
// file twice. Nothing is lost by it, and nothing stays forever.
func TestPurgeIsKilledBetweenCopyAndDeletion(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"mem://", "file://" + filepath.Join(t.TempDir(), "blobs")} {
		s := openURL(t, url)
		put := func() string {
			digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
			require.NoError(t, err)
			return strings.TrimPrefix(digest, scheme)
		}
		digits := put()
		there := func(want bool) {
			r, err := s.Open(t.Context(), scheme+digits)
			if !want {
				require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, r.Close())
		}
		named := func(digest string) bool { return digest == blobstest.Digest([]byte("content")) }
		duplicate := func(from, to string) {
			r, size, err := s.bucket.open(t.Context(), from)
			require.NoError(t, err)
			require.NoError(t, s.bucket.write(t.Context(), to, r, size))
			require.NoError(t, r.Close())
		}
		copied := func() { duplicate(keyOf(digits), leavingKey(digits, time.Now())) }

		copied() // trashing it
		require.Zero(t, purged(t, s, 9, named))
		there(true)
		copied()
		require.Equal(t, core.Purged{Files: 1, Bytes: 7, Trashed: 1}, purged(t, s, 2, nobody))
		there(true)
		objects, err := s.list(t.Context(), leavingPrefix(digits))
		require.NoError(t, err)
		require.Len(t, objects, 1)
		duplicate(objects[0].key, keyOf(digits)) // bringing it back
		require.Zero(t, purged(t, s, 9, named))
		there(true)
		require.Equal(t, 1, purged(t, s, 9, nobody).Trashed)
		require.Equal(t, 1, purged(t, s, 19, nobody).Files)
		there(false)
		objects, err = s.list(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, objects)
	}
}

// One that has slept does not delete what it copied before: its copy may be old.
func TestPurgeThatSleptDeletesNothing(t *testing.T) {
	t.Parallel()
	s := openURL(t, "mem://")
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	key := keyOf(strings.TrimPrefix(digest, scheme))
	require.Error(t, s.bucket.move(t.Context(), key, "leaving/xx/copy", 7, 0))
	there, err := s.bucket.exists(t.Context(), key)
	require.NoError(t, err)
	require.True(t, there)
}

// A purge that goes on for long counts a file's days in the trash from when it moved it.
func TestTrashCountsFromTheMove(t *testing.T) {
	t.Parallel()
	s := openURL(t, "mem://")
	_, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	began := time.Now().Add(2 * day)
	var decided time.Time
	_, err = s.Purge(t.Context(), began, day, func(string) bool {
		for decided = time.Now(); !time.Now().After(decided.Add(2 * time.Millisecond)); {
			continue // names have whole milliseconds
		}
		return false
	})
	require.NoError(t, err)
	objects, err := s.list(t.Context(), leavingFolder)
	require.NoError(t, err)
	require.Len(t, objects, 1)
	m := leavingName().FindStringSubmatch(filepath.Base(objects[0].key))
	require.NotNil(t, m)
	since, err := strconv.ParseInt(m[2], 10, 64)
	require.NoError(t, err)
	require.Greater(t, since, began.UnixMilli())
}

func TestPurgeRemovesWhatDeadWritersLeft(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "blobs")
	s := openURL(t, "file://"+root)
	digest, _, err := s.Put(t.Context(), strings.NewReader("content"), 100)
	require.NoError(t, err)
	require.Equal(t, 1, purged(t, s, 2, nobody).Trashed)
	digits := strings.TrimPrefix(digest, scheme)
	half := filepath.Join(root, leavingFolder, digits[:2], "half.17.tmp")
	require.NoError(t, os.WriteFile(half, nil, 0o600))
	other := filepath.Join(root, leavingFolder, digits[:2], "note.txt")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	purged(t, s, 2, nobody)
	require.FileExists(t, half, "somebody may be writing it")
	old := time.Now().Add(-2 * stranded)
	require.NoError(t, os.Chtimes(half, old, old))
	purged(t, s, 9, nobody)
	require.NoFileExists(t, half)
	require.FileExists(t, other, "not ours")
}
