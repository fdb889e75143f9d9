// Package blobstest is the suite that every core.Blobs passes.
package blobstest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"drover/core"

	"github.com/stretchr/testify/require"
)

// Store is a store under test.
type Store struct {
	core.Blobs
	// Again opens the same store once more; nil if nobody can.
	Again func(t *testing.T) core.Blobs
	// Damage replaces the content that the store has under a digest.
	Damage func(t *testing.T, digest string, content []byte)
}

// Run runs the suite. open returns a new, empty store; Run closes it.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s Store)
	}{
		{"RoundTrip", roundTrip},
		{"Limit", limit},
		{"BrokenStream", brokenStream},
		{"NeverHalf", neverHalf},
		{"Unknown", unknown},
		{"BadDigest", badDigest},
		{"Purge", purge},
		{"PurgeKeeps", purgeKeeps},
		{"PutWhilePurged", putWhilePurged},
		{"PurgesAtOnce", purgesAtOnce},
		{"Each", each},
		{"Damaged", damaged},
		{"Together", together},
		{"Cancelled", cancelled},
		{"Identity", identity},
		{"Owner", owner},
		{"Ping", ping},
		{"Closed", closed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			test.run(t, s)
		})
	}
}

// Digest is the digest of a content.
func Digest(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// put stores a content and returns its digest.
func put(t *testing.T, s core.Blobs, content []byte) string {
	t.Helper()
	digest, size, err := s.Put(t.Context(), bytes.NewReader(content), int64(len(content))+1)
	require.NoError(t, err)
	require.Equal(t, Digest(content), digest)
	require.EqualValues(t, len(content), size)
	return digest
}

// get reads a content.
func get(ctx context.Context, s core.Blobs, digest string) ([]byte, error) {
	r, err := s.Open(ctx, digest)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	return content, errors.Join(err, r.Close())
}

// all lists what a store holds: digest → size.
func all(t *testing.T, s core.Blobs) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	require.NoError(t, s.Each(t.Context(), func(digest string, size, stored int64) error {
		require.NotContains(t, found, digest, "twice")
		require.WithinDuration(t, time.Now(), time.UnixMilli(stored), time.Hour)
		found[digest] = size
		return nil
	}))
	return found
}

func requireCode(t *testing.T, want core.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, core.CodeOf(err), err.Error())
}

func random(n int) []byte {
	content := make([]byte, n)
	_, _ = rand.Read(content) // never fails
	return content
}

func roundTrip(t *testing.T, s Store) {
	for _, n := range []int{0, 1, 511, 512, 513, 1<<20 - 1, 1 << 20, 1<<20 + 1, 5 << 20} {
		content := random(n)
		digest := put(t, s, content)
		got, err := get(t.Context(), s, digest)
		require.NoError(t, err)
		require.True(t, bytes.Equal(content, got), "%d bytes", n)
	}
}

func limit(t *testing.T, s Store) {
	for _, n := range []int64{1, 1000, 1 << 20, 3 << 20} {
		content := random(int(n))
		_, _, err := s.Put(t.Context(), bytes.NewReader(content), n-1)
		if n > 1 {
			requireCode(t, core.CodeLimit, err)
		}
		require.NotContains(t, all(t, s), Digest(content))
		_, _, err = s.Put(t.Context(), bytes.NewReader(content), n)
		require.NoError(t, err, "just fits")
	}
	_, _, err := s.Put(t.Context(), endless{}, 1<<20)
	requireCode(t, core.CodeLimit, err)
	for _, bad := range []int64{0, -1} {
		_, _, err := s.Put(t.Context(), strings.NewReader(""), bad)
		requireCode(t, core.CodeInvalid, err)
	}
}

// endless is a stream without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func brokenStream(t *testing.T, s Store) {
	for _, n := range []int{0, 10, 2 << 20} {
		broken := io.MultiReader(bytes.NewReader(random(n)), failing{errors.New("the line is dead")})
		_, _, err := s.Put(t.Context(), broken, 10<<20)
		requireCode(t, core.CodeInvalid, err)
		require.ErrorContains(t, err, "the line is dead")
		refused := core.Errorf(core.CodeForbidden, "", "no")
		_, _, err = s.Put(t.Context(), io.MultiReader(bytes.NewReader(random(n)), failing{refused}), 10<<20)
		requireCode(t, core.CodeForbidden, err)
	}
	require.Empty(t, all(t, s))
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func neverHalf(t *testing.T, s Store) {
	content := random(3 << 20)
	from, to := io.Pipe()
	done := make(chan error)
	go func() {
		_, _, err := s.Put(t.Context(), from, 10<<20)
		done <- err
	}()
	for half := range 2 {
		_, err := to.Write(content[half*len(content)/2 : (half+1)*len(content)/2]) // returns once it was taken
		require.NoError(t, err)
		_, err = s.Open(t.Context(), Digest(content))
		requireCode(t, core.CodeNotFound, err)
		require.Empty(t, all(t, s))
	}
	require.NoError(t, to.Close())
	require.NoError(t, <-done)
	require.Equal(t, map[string]int64{Digest(content): int64(len(content))}, all(t, s))
}

func unknown(t *testing.T, s Store) {
	_, err := s.Open(t.Context(), Digest([]byte("nobody")))
	requireCode(t, core.CodeNotFound, err)
}

func badDigest(t *testing.T, s Store) {
	good := Digest(nil)
	for _, digest := range []string{
		"", "sha256:", good[7:], strings.ToUpper(good), good + "0", good[:70], good + "\n",
		"sha256:../../../../etc/passwd", "sha512:" + good[7:], "sha256:" + strings.Repeat("../", 20) + "abcd",
	} {
		_, err := s.Open(t.Context(), digest)
		requireCode(t, core.CodeInvalid, err)
	}
}

func each(t *testing.T, s Store) {
	want := map[string]int64{}
	for i := range 300 {
		content := random(i)
		want[put(t, s, content)] = int64(i)
	}
	require.NoError(t, s.Ping(t.Context())) // leaves nothing that counts as a file
	require.Equal(t, want, all(t, s))
	stop, calls := errors.New("stop"), 0
	require.ErrorIs(t, s.Each(t.Context(), func(string, int64, int64) error { calls++; return stop }), stop)
	require.Equal(t, 1, calls)
}

func damaged(t *testing.T, s Store) {
	content := random(100_000)
	digest := put(t, s, content)
	flipped := bytes.Clone(content)
	flipped[len(flipped)-1] ^= 1
	for name, broken := range map[string][]byte{
		"flipped": flipped, "short": content[:len(content)-1], "long": append(bytes.Clone(content), 0), "empty": {},
	} {
		s.Damage(t, digest, broken)
		got, err := get(t.Context(), s, digest)
		requireCode(t, core.CodeUnavailable, err)
		require.ErrorContains(t, err, "damaged", name)
		require.ErrorIs(t, err, core.ErrDamaged, name)
		require.Less(t, len(got), len(content), "%s: a reader that counts must not get the whole", name)
	}
	put(t, s, content) // mends it
	got, err := get(t.Context(), s, digest)
	require.NoError(t, err)
	require.Equal(t, content, got)
}

func together(t *testing.T, s Store) {
	contents := [][]byte{random(10), random(1000), random(200 << 10)}
	var running sync.WaitGroup
	errs := make(chan error, 1000)
	for i := range 24 {
		running.Go(func() {
			for round := range 5 {
				content := contents[(i+round)%len(contents)]
				digest, _, err := s.Put(t.Context(), bytes.NewReader(content), 10<<20)
				errs <- err
				if err != nil {
					return
				}
				got, err := get(t.Context(), s, digest)
				if err == nil && !bytes.Equal(got, content) {
					err = errors.New("another content")
				}
				errs <- err
				errs <- s.Each(t.Context(), func(string, int64, int64) error { return nil })
			}
		})
	}
	running.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	want := map[string]int64{}
	for _, content := range contents {
		want[Digest(content)] = int64(len(content))
	}
	require.Equal(t, want, all(t, s))
}

// calls returns every call of the interface by name.
func calls(digest string) map[string]func(ctx context.Context, s core.Blobs) error {
	return map[string]func(ctx context.Context, s core.Blobs) error{
		"Put": func(ctx context.Context, s core.Blobs) error {
			_, _, err := s.Put(ctx, strings.NewReader("other"), 10)
			return err
		},
		"Open": func(ctx context.Context, s core.Blobs) error { _, err := get(ctx, s, digest); return err },
		"Purge": func(ctx context.Context, s core.Blobs) error {
			_, err := s.Purge(ctx, time.Now(), time.Hour, func(string) bool { return true })
			return err
		},
		"Each": func(ctx context.Context, s core.Blobs) error {
			return s.Each(ctx, func(string, int64, int64) error { return nil })
		},
		"ID":    func(ctx context.Context, s core.Blobs) error { _, err := s.ID(ctx); return err },
		"Owner": func(ctx context.Context, s core.Blobs) error { _, err := s.Owner(ctx, "a", false); return err },
		"Ping":  func(ctx context.Context, s core.Blobs) error { return s.Ping(ctx) },
	}
}

func cancelled(t *testing.T, s Store) {
	digest := put(t, s, []byte("content"))
	ctx, cancel := context.WithCancel(t.Context())
	stream := &leaving{leave: cancel}
	_, _, err := s.Put(ctx, stream, 8<<20)
	requireCode(t, core.CodeUnavailable, err)
	require.Equal(t, 1, stream.reads, "nothing is read for a caller that left")
	for _, name := range []string{"Put", "ID", "Ping"} {
		err := calls(digest)[name](ctx, s)
		require.ErrorIs(t, err, context.Canceled, name)
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), name)
	}
	require.Len(t, all(t, s), 1)
}

// leaving is an endless stream whose caller leaves at its first bytes.
type leaving struct {
	leave func()
	reads int
}

func (l *leaving) Read(p []byte) (int, error) {
	l.leave()
	l.reads++
	return len(p), nil
}

// identity asks for the id from many sides at once, when there is none yet.
func identity(t *testing.T, s Store) {
	asked := []core.Blobs{s, s, s, s}
	if s.Again != nil {
		for i := range asked {
			asked[i] = s.Again(t)
		}
	}
	ids := make([]string, len(asked))
	var running sync.WaitGroup
	for i, one := range asked {
		running.Go(func() {
			var err error
			if ids[i], err = one.ID(context.Background()); err != nil {
				ids[i] = err.Error()
			}
		})
	}
	running.Wait()
	for _, id := range ids {
		require.Regexp(t, "^[A-Z2-7]{26}$", id)
		require.Equal(t, ids[0], id)
	}
	require.Empty(t, all(t, s), "it is no file")
	purgeAt(t, s, 9, keeping())
	purgeAt(t, s, 18, keeping())
	id, err := s.ID(t.Context())
	require.NoError(t, err)
	require.Equal(t, ids[0], id)
}

// owner is the first that says so, until the files are moved to another.
func owner(t *testing.T, s Store) {
	for _, c := range []struct {
		owner string
		move  bool
		want  string
	}{{"", false, ""}, {"", true, ""}, {"a", false, "a"}, {"b", false, "a"}, {"", true, "a"}, {"b", true, "b"}, {"a", false, "b"}, {"", false, "b"}} {
		is, err := s.Owner(t.Context(), c.owner, c.move)
		require.NoError(t, err)
		require.Equal(t, c.want, is, "%+v", c)
	}
	require.Empty(t, all(t, s), "it is no file")
}

func ping(t *testing.T, s Store) {
	require.NoError(t, s.Ping(t.Context()))
	require.NoError(t, s.Ping(t.Context()))
}

func closed(t *testing.T, s Store) {
	digest := put(t, s, []byte("content"))
	require.NoError(t, s.Close())
	for name, call := range calls(digest) {
		require.Equal(t, core.CodeUnavailable, core.CodeOf(call(t.Context(), s)), name)
	}
	require.NoError(t, s.Close(), "a second time")
}
