package imagecache_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core/service/clock"
	"drover/vmfactory/imagecache"
)

// What a crash leaves at any moment is put right by the next start.
func TestOpenAfterACrash(t *testing.T) {
	t.Parallel()
	root(t)
	s := newMemory(t)
	made := s.image(t, "debian", "hello")
	dir := t.TempDir()
	first := s.open(t, imagecache.Config{Dir: dir})
	r, err := first.Get(t.Context(), "debian")
	require.NoError(t, err)
	folder := filepath.Dir(r.Path)
	bind := func(folder string) {
		require.NoError(t, unix.Mount(filepath.Join(folder, "rootfs"), filepath.Join(folder, "ro"), "", unix.MS_BIND, ""))
	}

	for name, crash := range map[string]func(){
		"not mounted":       func() { require.NoError(t, unix.Unmount(r.Path, 0)) },
		"mounted, writable": func() { require.NoError(t, unix.Mount("", r.Path, "", unix.MS_BIND|unix.MS_REMOUNT, "")) },
		"mounted twice":     func() { bind(folder) },
		"half unpacked":     func() { half(t, filepath.Join(dir, ".unpack-X")) },
		"half removed":      func() { half(t, filepath.Join(dir, ".remove-X")) },
		"half removed, still mounted": func() {
			gone := filepath.Join(dir, ".remove-Y")
			half(t, gone)
			bind(gone)
		},
	} {
		_, err := first.Get(t.Context(), "debian")
		require.NoError(t, err, name)
		crash()
		again := s.open(t, imagecache.Config{Dir: dir})
		got, err := again.Get(t.Context(), "debian")
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
		require.ErrorIs(t, os.Mkdir(filepath.Join(got.Path, "new"), 0o700), unix.EROFS, name)
		found, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, found, 1, name)
		require.Equal(t, folder, filepath.Join(dir, found[0].Name()))
		require.NoError(t, again.Close())
		left, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir))
		require.NoError(t, err)
		require.Empty(t, left, name)
	}
	require.EqualValues(t, 1, s.opens.Load(), "it was never fetched again")
	require.True(t, first.Has(made.Digest))
}

func half(t *testing.T, dir string) {
	t.Helper()
	for _, part := range []string{"rootfs/bin", "ro"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, part), 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rootfs/bin/say"), []byte("hel"), 0o600))
}

// What another process is unpacking is not taken for left behind.
func TestOpenWhileAnotherUnpacks(t *testing.T) {
	t.Parallel()
	root(t)
	s := newMemory(t)
	s.image(t, "debian", "hello")
	dir := t.TempDir()
	begun, proceed := make(chan struct{}), make(chan struct{})
	s.gate = func(context.Context) error {
		close(begun)
		<-proceed
		return nil
	}
	one := s.open(t, imagecache.Config{Dir: dir})
	done := make(chan error)
	go func() {
		_, err := one.Get(t.Context(), "debian")
		done <- err
	}()
	<-begun
	s.gate = nil
	two := s.open(t, imagecache.Config{Dir: dir})
	_, err := two.Get(t.Context(), "debian")
	require.NoError(t, err)
	close(proceed)
	require.NoError(t, <-done, "who comes second takes what is there")
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestSweep(t *testing.T) {
	t.Parallel()
	root(t)
	s := newMemory(t)
	hands := clock.NewManual(time.UnixMilli(1000))
	dir := t.TempDir()
	store := s.open(t, imagecache.Config{Dir: dir, Clock: hands})
	get := func(name string) imagecache.Rootfs {
		t.Helper()
		r, err := store.Get(t.Context(), name)
		require.NoError(t, err)
		return r
	}
	used, old := s.image(t, "used", "1"), s.image(t, "old", "2")
	s.image(t, "busy", "4")
	get("used")
	get("old")
	busy, err := os.Open(filepath.Join(get("busy").Path, "bin/say"))
	require.NoError(t, err)
	hands.Advance(time.Hour)
	fresh := s.image(t, "fresh", "3")
	path := get("fresh").Path

	sweep := func(idle time.Duration) []string {
		t.Helper()
		removed, err := store.Sweep(func(digest string) bool { return digest == used.Digest }, idle)
		require.NoError(t, err)
		return removed
	}
	require.Empty(t, func() []string {
		removed, err := s.open(t, imagecache.Config{Dir: dir, Clock: hands}).Sweep(nil, 2*time.Hour)
		require.NoError(t, err)
		return removed
	}(), "another process knows what was given out")
	require.Equal(t, []string{old.Digest}, sweep(time.Minute), "neither what VMs use, nor what was just given, nor what is open")
	require.False(t, store.Has(old.Digest))
	require.NoError(t, busy.Close())
	require.Len(t, sweep(time.Minute), 1)
	require.Equal(t, []string{fresh.Digest}, sweep(0))
	require.NoDirExists(t, path)
	require.Empty(t, sweep(0))
	get("fresh")
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, found, 2)
}
