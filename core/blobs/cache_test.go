package blobs

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drover/core"
	"drover/core/blobs/blobstest"
	"drover/core/service/clock"

	"github.com/stretchr/testify/require"
)

// source is a store that counts and can be held or made to fail.
type source struct {
	core.Blobs
	opened atomic.Int64
	before func(ctx context.Context) error
}

func (s *source) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	s.opened.Add(1)
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return nil, err
		}
	}
	return s.Blobs.Open(ctx, digest)
}

// cacheTest is a cache on a store in memory, with a clock that a test moves.
type cacheTest struct {
	*Cache
	from *source
	opts CacheOptions
	time *clock.Manual
}

func newCacheTest(t *testing.T, most int64) *cacheTest {
	t.Helper()
	hands := clock.NewManual(time.Now())
	c := &cacheTest{
		from: &source{Blobs: openURL(t, "mem://")},
		opts: CacheOptions{Dir: filepath.Join(t.TempDir(), "cache"), MaxBytes: most, Clock: hands}, time: hands,
	}
	c.reopen(t)
	return c
}

// reopen is a restart of the process.
func (c *cacheTest) reopen(t *testing.T) {
	t.Helper()
	if c.Cache != nil {
		require.NoError(t, c.Close())
	}
	var err error
	c.Cache, err = OpenCache(c.from, c.opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
}

// put stores n random bytes.
func (c *cacheTest) put(t *testing.T, n int) (digest string, content []byte) {
	t.Helper()
	content = make([]byte, n)
	_, _ = rand.Read(content) // never fails
	digest, _, err := c.from.Put(t.Context(), bytes.NewReader(content), 10<<20)
	require.NoError(t, err)
	return digest, content
}

// requireGet opens a file and requires its content.
func (c *cacheTest) requireGet(t *testing.T, digest string, want []byte) {
	t.Helper()
	c.time.Advance(time.Second)
	f, err := c.Open(t.Context(), digest)
	require.NoError(t, err)
	got, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.True(t, bytes.Equal(want, got))
}

// path is where a file lies.
func (c *cacheTest) path(digest string) string {
	return filepath.Join(c.opts.Dir, strings.TrimPrefix(digest, scheme))
}

func TestCacheKeeps(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t, 1000)
	digest, content := c.put(t, 300)
	for range 3 {
		c.requireGet(t, digest, content)
	}
	require.Equal(t, CacheStats{Hits: 2, Misses: 1, Fetches: 1, Files: 1, Bytes: 300}, c.Stats())
	info, err := os.Stat(c.path(digest))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	info, err = os.Stat(c.opts.Dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	empty, _ := c.put(t, 0)
	c.requireGet(t, empty, nil)
}

func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t, 1000)
	a, inA := c.put(t, 400)
	b, inB := c.put(t, 400)
	d, inD := c.put(t, 400)
	c.requireGet(t, a, inA)
	c.requireGet(t, b, inB)
	c.requireGet(t, a, inA) // b is the oldest now
	held, err := c.Open(t.Context(), b)
	require.NoError(t, err)
	c.requireGet(t, a, inA)
	c.requireGet(t, d, inD)
	require.NoFileExists(t, c.path(b))
	require.FileExists(t, c.path(a))
	require.FileExists(t, c.path(d))
	got, err := io.ReadAll(held)
	require.NoError(t, err)
	require.Equal(t, inB, got, "what was handed out stays readable")
	require.NoError(t, held.Close())
	require.Equal(t, CacheStats{Hits: 3, Misses: 3, Fetches: 3, Evicted: 1, Files: 2, Bytes: 800}, c.Stats())
	require.Len(t, c.verified, 2, "nothing is kept of what left")

	// The order of use survives a restart.
	c.requireGet(t, a, inA)
	c.reopen(t)
	c.requireGet(t, b, inB)
	require.FileExists(t, c.path(a))
	require.NoFileExists(t, c.path(d))
}

func TestCacheBoundAfterRestart(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t, 1000)
	a, inA := c.put(t, 400)
	b, inB := c.put(t, 400)
	c.requireGet(t, a, inA)
	c.requireGet(t, b, inB)
	c.opts.MaxBytes = 500
	c.reopen(t)
	require.NoFileExists(t, c.path(a))
	require.FileExists(t, c.path(b))
}

func TestCacheSurvivesRestart(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t, 1000)
	digest, content := c.put(t, 300)
	c.requireGet(t, digest, content)
	c.reopen(t)
	c.requireGet(t, digest, content)
	require.EqualValues(t, 1, c.from.opened.Load(), "fetched once in both lives")
	require.Equal(t, CacheStats{Hits: 1, Files: 1, Bytes: 300}, c.Stats())
}

func TestCacheNoticesTornFiles(t *testing.T) {
	t.Parallel()
	for name, tear := range map[string]func(content []byte) []byte{
		"short":   func(content []byte) []byte { return content[:100] },
		"empty":   func([]byte) []byte { return nil },
		"zeroed":  func(content []byte) []byte { return make([]byte, len(content)) },
		"flipped": func(content []byte) []byte { content = bytes.Clone(content); content[7] ^= 1; return content },
		"long":    func(content []byte) []byte { return append(bytes.Clone(content), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCacheTest(t, 1000)
			digest, content := c.put(t, 300)
			c.requireGet(t, digest, content)
			require.NoError(t, os.WriteFile(c.path(digest), tear(content), 0o600))
			c.reopen(t)
			c.requireGet(t, digest, content)
			require.Equal(t, CacheStats{Misses: 1, Fetches: 1, Damaged: 1, Files: 1, Bytes: 300}, c.Stats())
		})
	}
}

func TestCacheNoticesAnotherFile(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t, 1000)
	digest, content := c.put(t, 300)
	c.requireGet(t, digest, content)
	require.NoError(t, os.Truncate(c.path(digest), 10))
	c.requireGet(t, digest, content)
	require.NoError(t, os.WriteFile(c.path(digest)+"x", make([]byte, 300), 0o600))
	require.NoError(t, os.Rename(c.path(digest)+"x", c.path(digest)))
	c.requireGet(t, digest, content)
	require.NoError(t, os.Remove(c.path(digest)))
	c.requireGet(t, digest, content)
	stats := c.Stats()
	require.EqualValues(t, 4, stats.Fetches)
	require.EqualValues(t, 2, stats.Damaged)

	require.NoError(t, os.Remove(c.path(digest)))
	require.NoError(t, os.Symlink("/etc/passwd", c.path(digest)))
	_, err := c.Open(t.Context(), digest)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
}

func TestCacheRefuses(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t, 1000)
	large, _ := c.put(t, 1001)
	_, err := c.Open(t.Context(), large)
	require.Equal(t, core.CodeLimit, core.CodeOf(err), "%v", err)
	_, err = c.Open(t.Context(), blobstest.Digest([]byte("nobody")))
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	_, err = c.Open(t.Context(), "sha256:../x")
	require.Equal(t, core.CodeInvalid, core.CodeOf(err), "%v", err)
	c.from.before = func(context.Context) error { return core.Errorf(core.CodeUnavailable, "", "away") }
	digest, content := c.put(t, 10)
	_, err = c.Open(t.Context(), digest)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
	left, err := os.ReadDir(c.opts.Dir)
	require.NoError(t, err)
	require.Empty(t, left, "failed fetches leave nothing")
	c.from.before = nil
	c.requireGet(t, digest, content)

	_, err = OpenCache(c.from, CacheOptions{Dir: t.TempDir()})
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	_, err = OpenCache(c.from, CacheOptions{Dir: "/nowhere/at/all", MaxBytes: 1})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.NoError(t, c.Close())
	_, err = c.Open(t.Context(), digest)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

// liar is a store whose files are not what their digests say.
type liar struct{ core.Blobs }

func (liar) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("something else")), nil
}

func TestCacheVerifiesWhatItFetches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := OpenCache(liar{}, CacheOptions{Dir: dir, MaxBytes: 100})
	require.NoError(t, err)
	_, err = c.Open(t.Context(), blobstest.Digest([]byte("content")))
	require.ErrorContains(t, err, "damaged")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoError(t, c.Close())
}

func TestCacheSharesAFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCacheTest(t, 1000)
		digest, content := c.put(t, 300)
		begin := make(chan struct{})
		c.from.before = func(context.Context) error { <-begin; return nil }
		impatient, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := c.Open(impatient, digest)
			left <- err
		}()
		synctest.Wait() // the one that leaves has begun the fetch
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				f, err := c.Open(t.Context(), digest)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(f)
				if err := errors.Join(err, f.Close()); err != nil || !bytes.Equal(got, content) {
					t.Errorf("another content: %v", err)
				}
			})
		}
		synctest.Wait()
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		close(begin)
		all.Wait()
		require.Equal(t, CacheStats{Misses: 20, Fetches: 1, Files: 1, Bytes: 300}, c.Stats())
	})
}

func TestCacheCloseEndsFetches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCacheTest(t, 1000)
		digest, _ := c.put(t, 300)
		ended := false
		c.from.before = func(ctx context.Context) error {
			<-ctx.Done()
			<-time.After(time.Second) // the bubble's time
			ended = true
			return fault(ctx.Err(), digest)
		}
		left, begun := make(chan error, 1), time.Now()
		go func() {
			_, err := c.Open(t.Context(), digest)
			left <- err
		}()
		synctest.Wait()
		require.NoError(t, c.Close())
		require.True(t, ended, "Close waits")
		require.Equal(t, time.Second, time.Since(begun), "and does not let it run on")
		require.Equal(t, core.CodeUnavailable, core.CodeOf(<-left))
	})
}

func TestCacheGivesUpAStuckFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCacheTest(t, 1000)
		digest, _ := c.put(t, 300)
		c.from.before = func(ctx context.Context) error { <-ctx.Done(); return fault(ctx.Err(), digest) }
		_, err := c.Open(t.Context(), digest) // the bubble's time passes by itself
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestCacheRemovesWhatDeadFetchersLeft(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t, 1000)
	dead, alive := filepath.Join(c.opts.Dir, fetchPrefix+"a"), filepath.Join(c.opts.Dir, fetchPrefix+"b")
	for _, path := range []string{dead, alive} {
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o600))
	}
	old := c.time.Now().Add(-fetchStranded - time.Second)
	require.NoError(t, os.Chtimes(dead, old, old))
	c.reopen(t)
	require.NoFileExists(t, dead)
	require.FileExists(t, alive, "another process may be fetching it")
}

// Two processes share a folder that holds half of what they want.
func TestCacheSharedAndCrowded(t *testing.T) {
	t.Parallel()
	a := newCacheTest(t, 1000)
	b, err := OpenCache(a.from, a.opts)
	require.NoError(t, err)
	type file struct {
		digest  string
		content []byte
	}
	var files []file
	for range 10 {
		digest, content := a.put(t, 200)
		files = append(files, file{digest, content})
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for round := range 30 {
				want := files[(i*7+round*3)%len(files)]
				f, err := []*Cache{a.Cache, b}[i%2].Open(t.Context(), want.digest)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(f)
				if err := errors.Join(err, f.Close()); err != nil || !bytes.Equal(got, want.content) {
					t.Errorf("another content: %v", err)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, b.Close())
	a.reopen(t)
	require.LessOrEqual(t, a.Stats().Bytes, int64(1000))
	require.Positive(t, a.Stats().Files)
}
