package blobstest

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// grace of the suite's purges. Files are as old as the test, so that a later time of
// the purge makes them old.
const grace = 24 * time.Hour

// keeping returns a keep of these digests alone.
func keeping(digests ...string) func(string) bool {
	return func(digest string) bool { return slices.Contains(digests, digest) }
}

// purgeAt purges as if it were so many graces later.
func purgeAt(t *testing.T, s core.Blobs, graces int, keep func(string) bool) core.Purged {
	t.Helper()
	p, err := s.Purge(t.Context(), time.Now().Add(time.Duration(graces)*grace), grace, keep)
	require.NoError(t, err)
	return p
}

func requireThere(t *testing.T, s core.Blobs, digest string, content []byte) {
	t.Helper()
	got, err := get(t.Context(), s, digest)
	require.NoError(t, err)
	require.True(t, bytes.Equal(content, got))
}

func requireGone(t *testing.T, s core.Blobs, digest string) {
	t.Helper()
	_, err := s.Open(t.Context(), digest)
	requireCode(t, core.CodeNotFound, err)
}

func purge(t *testing.T, s Store) {
	digest, kept := put(t, s, []byte("aa")), put(t, s, []byte("b"))
	keep := keeping(kept)
	require.Zero(t, purgeAt(t, s, 0, keep), "they are young")
	require.Equal(t, core.Purged{Trashed: 1}, purgeAt(t, s, 2, keep))
	require.Equal(t, map[string]int64{kept: 1}, all(t, s))
	requireThere(t, s, digest, []byte("aa"))
	require.Zero(t, purgeAt(t, s, 2, keep), "it is not in the trash for long")
	requireThere(t, s, digest, []byte("aa"))
	require.Equal(t, core.Purged{Files: 1, Bytes: 2}, purgeAt(t, s, 4, keep))
	requireGone(t, s, digest)
	require.Zero(t, purgeAt(t, s, 9, keep))
	requireThere(t, s, kept, []byte("b"))
	put(t, s, []byte("aa"))
	requireThere(t, s, digest, []byte("aa"))
}

// purgeKeeps brings back what is named again, with or without a Put.
func purgeKeeps(t *testing.T, s Store) {
	digest, content := put(t, s, []byte("content")), []byte("content")
	require.Equal(t, 1, purgeAt(t, s, 2, keeping()).Trashed)
	require.Zero(t, purgeAt(t, s, 9, keeping(digest)))
	require.Equal(t, map[string]int64{digest: 7}, all(t, s))
	requireThere(t, s, digest, content)

	require.Equal(t, 1, purgeAt(t, s, 2, keeping()).Trashed)
	put(t, s, content)
	for _, broken := range [][]byte{content, []byte("CONTENT")} { // what is in the trash replaces nothing
		if !bytes.Equal(broken, content) {
			s.Damage(t, digest, broken)
			require.Equal(t, 1, purgeAt(t, s, 2, keeping()).Trashed)
			put(t, s, content)
		}
		require.Zero(t, purgeAt(t, s, 9, keeping(digest)))
		requireThere(t, s, digest, content)
	}
	require.Equal(t, core.Purged{Trashed: 1}, purgeAt(t, s, 9, keeping()), "nothing else was left in the trash")
}

// putWhilePurged puts a file between a purge's decision and what follows of it, in
// either step. Its request is durable within the grace.
func putWhilePurged(t *testing.T, s Store) {
	content := []byte("content")
	digest := put(t, s, content)
	again := func(string) bool {
		put(t, s, content)
		return false
	}
	require.Equal(t, 1, purgeAt(t, s, 2, again).Trashed)
	requireThere(t, s, digest, content)
	require.Zero(t, purgeAt(t, s, 4, keeping(digest)))
	requireThere(t, s, digest, content)
	require.Equal(t, map[string]int64{digest: 7}, all(t, s))

	require.Equal(t, 1, purgeAt(t, s, 2, keeping()).Trashed)
	require.Equal(t, core.Purged{Files: 1, Bytes: 7, Trashed: 1}, purgeAt(t, s, 4, again), "the new one, which looks old to this purge")
	requireThere(t, s, digest, content)
	require.Zero(t, purgeAt(t, s, 6, keeping(digest)))
	requireThere(t, s, digest, content)
}

// purgesAtOnce purges within a purge, at each of its decisions.
func purgesAtOnce(t *testing.T, s Store) {
	content := []byte("content")
	digest := put(t, s, content)
	// One that decided long ago finds it put, named, and trashed by another meanwhile.
	late := func(string) bool {
		purgeAt(t, s, 2, keeping())
		purgeAt(t, s, 4, keeping())
		requireGone(t, s, digest)
		put(t, s, content)
		purgeAt(t, s, 4, keeping())
		return false
	}
	purgeAt(t, s, 2, late)
	requireThere(t, s, digest, content)
	purgeAt(t, s, 5, keeping(digest))
	requireThere(t, s, digest, content)

	var running sync.WaitGroup
	errs := make(chan error, 1000)
	for range 6 {
		running.Go(func() {
			for range 5 {
				_, err := s.Purge(context.Background(), time.Now().Add(2*grace), grace, keeping())
				errs <- err
				_, _, err = s.Put(context.Background(), bytes.NewReader(content), 100)
				errs <- err
				_, err = get(context.Background(), s, digest)
				errs <- err
			}
		})
	}
	running.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	purgeAt(t, s, 9, keeping(digest))
	require.Equal(t, map[string]int64{digest: 7}, all(t, s))
	require.Equal(t, core.Purged{Trashed: 1}, purgeAt(t, s, 9, keeping()), "nothing else was left in the trash")
}
