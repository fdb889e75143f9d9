package imagecache_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/blobs"
	"drover/core/images"
	"drover/core/service/clock"
	"drover/core/store/sqlite/sqlitetest"
	"drover/vmfactory"
	"drover/vmfactory/imagecache"
	"drover/vmfactory/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is where a test's images are kept.
type memory struct {
	core.Blobs
	store core.ResultStore
	opens atomic.Int64
	gate  func(ctx context.Context) error                    // before a file is opened
	bend  func(io.ReadCloser, string) (io.ReadCloser, error) // what a file becomes on its way
}

func newMemory(t *testing.T) *memory {
	t.Helper()
	blobs, err := blobs.Open(t.Context(), "file://"+filepath.Join(t.TempDir(), "blobs"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	return &memory{Blobs: blobs, store: sqlitetest.Open(t)}
}

func (s *memory) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	s.opens.Add(1)
	if s.gate != nil {
		if err := s.gate(ctx); err != nil {
			return nil, err
		}
	}
	r, err := s.Blobs.Open(ctx, digest)
	if err == nil && s.bend != nil {
		return s.bend(r, digest)
	}
	return r, err
}

// image keeps a small image whose one program says text.
func (s *memory) image(t *testing.T, name, text string) core.Image {
	t.Helper()
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, h := range []tar.Header{
		{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "./bin/say", Typeflag: tar.TypeReg, Mode: 0o4755, Size: int64(len(text)), Uid: 7},
		{Name: "./bin/tell", Typeflag: tar.TypeLink, Linkname: "bin/say"},
		{Name: "./sbin", Typeflag: tar.TypeSymlink, Linkname: "/bin"},
	} {
		require.NoError(t, w.WriteHeader(&h))
		if h.Size > 0 {
			_, err := io.WriteString(w, text)
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	image, err := images.Store{Images: s.store, Blobs: s.Blobs}.Keep(t.Context(), name, "a test", &plain, images.Options{})
	require.NoError(t, err)
	return image
}

// open opens a folder of images as a host does, and leaves nothing of it mounted.
func (s *memory) open(t *testing.T, cfg imagecache.Config) *imagecache.Store {
	t.Helper()
	cfg.Images, cfg.Blobs = s.store, s
	store, err := imagecache.Open(cfg)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := store.Sweep(nil, 0)
		require.NoError(t, errors.Join(err, store.Close()))
	})
	return store
}

// root skips a test that mounts, or fails it where all must run.
func root(t *testing.T) {
	t.Helper()
	providertest.Need(t, os.Geteuid() == 0, "root: images are mounted")
}

func requireCode(t *testing.T, want core.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, core.CodeOf(err), err.Error())
}

func TestGet(t *testing.T) {
	t.Parallel()
	root(t)
	s := newMemory(t)
	made := s.image(t, "debian", "hello")
	dir := filepath.Join(t.TempDir(), "images")
	store := s.open(t, imagecache.Config{Dir: dir})
	require.False(t, store.Has(made.Digest))

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, ref := range []string{"debian", made.Ref()} {
				r, err := store.Get(t.Context(), ref)
				if err != nil || r.Digest != made.Digest || r.Name != "debian" {
					t.Errorf("%v %v", r, err)
				}
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, s.opens.Load(), "all callers share one fetch")
	require.True(t, store.Has(made.Digest))

	r, err := store.Get(t.Context(), "debian")
	require.NoError(t, err)
	program := filepath.Join(r.Path, "bin", "say")
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	require.Equal(t, "hello", string(text))
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o755), info.Mode(), "no set-uid")
	var owner unix.Stat_t
	require.NoError(t, unix.Lstat(program, &owner))
	require.Zero(t, owner.Uid+owner.Gid, "all belongs to the host's root")
	require.EqualValues(t, 2, owner.Nlink)

	require.ErrorIs(t, os.WriteFile(program, nil, 0o600), unix.EROFS)
	require.ErrorIs(t, os.Mkdir(filepath.Join(r.Path, "new"), 0o700), unix.EROFS)
	found, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(r.Path))
	require.NoError(t, err)
	require.Len(t, found, 1, "all callers share one mount")
	for _, flag := range []string{"ro", "nosuid", "nodev"} {
		require.Contains(t, strings.Split(found[0].Options, ","), flag)
	}
	for at := r.Path; at != filepath.Dir(dir); at = filepath.Dir(at) {
		info, err := os.Stat(at)
		require.NoError(t, err)
		require.NotZero(t, info.Mode()&0o001, "the users of VMs must pass %s", at)
	}
}

func TestGetNewest(t *testing.T) {
	t.Parallel()
	root(t)
	s := newMemory(t)
	hands := clock.NewManual(time.UnixMilli(1000))
	store := s.open(t, imagecache.Config{Dir: t.TempDir(), Clock: hands, Refresh: time.Second})
	old := s.image(t, "debian", "old")
	get := func(ref string) string {
		t.Helper()
		r, err := store.Get(t.Context(), ref)
		require.NoError(t, err)
		return r.Digest
	}
	require.Equal(t, old.Digest, get("debian"))
	newest := s.image(t, "debian", "new")
	require.Equal(t, old.Digest, get("debian"), "believed for a moment")
	hands.Advance(time.Second)
	require.Equal(t, newest.Digest, get("debian"))
	require.Equal(t, old.Digest, get(old.Ref()), "named exactly, an old one stays")

	require.NoError(t, s.store.Close())
	hands.Advance(time.Hour)
	require.Equal(t, newest.Digest, get("debian"), "without the result store the last answer stands")
	_, err := store.Get(t.Context(), "another")
	requireCode(t, core.CodeUnavailable, err)
}

func TestGetWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newMemory(t)
	dir := t.TempDir()
	store := s.open(t, imagecache.Config{Dir: dir, Refresh: time.Nanosecond})
	_, err := store.Get(t.Context(), "debian")
	requireCode(t, core.CodeNotFound, err)
	require.ErrorContains(t, err, "build or import it first")
	_, err = store.Get(t.Context(), "../debian")
	requireCode(t, core.CodeInvalid, err)
	s.image(t, "debian", "hello")
	for i := range 2 { // trashed, then deleted
		_, err = s.Purge(t.Context(), time.Now().Add(time.Duration(i+1)*time.Hour), time.Minute, func(string) bool { return false })
		require.NoError(t, err)
	}
	_, err = store.Get(t.Context(), "debian")
	requireCode(t, core.CodeNotFound, err)
	require.ErrorContains(t, err, "build or import it again")
	empty(t, dir)
}

// empty requires that a folder of images holds nothing.
func empty(t *testing.T, dir string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, found)
}

// Whatever a blob store returns instead of the image, nothing of it stays.
func TestGetWhatIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bend func(r io.ReadCloser) io.Reader
		want core.Code
	}{
		"cut":      {func(r io.ReadCloser) io.Reader { return io.LimitReader(r, 100) }, core.CodeInvalid},
		"empty":    {func(io.ReadCloser) io.Reader { return strings.NewReader("") }, core.CodeUnavailable},
		"other":    {func(io.ReadCloser) io.Reader { return strings.NewReader("no image") }, core.CodeInvalid},
		"followed": {func(r io.ReadCloser) io.Reader { return io.MultiReader(r, strings.NewReader("x")) }, core.CodeLimit},
		"broken off": {func(r io.ReadCloser) io.Reader {
			return io.MultiReader(io.LimitReader(r, 100), failing{core.Errorf(core.CodeUnavailable, "", "the network is away")})
		}, core.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newMemory(t)
			s.image(t, "debian", strings.Repeat("hello", 100))
			dir := t.TempDir()
			store := s.open(t, imagecache.Config{Dir: dir})
			s.bend = func(r io.ReadCloser, _ string) (io.ReadCloser, error) {
				return struct {
					io.Reader
					io.Closer
				}{c.bend(r), r}, nil
			}
			_, err := store.Get(t.Context(), "debian")
			requireCode(t, c.want, err)
			empty(t, dir)
			if os.Geteuid() == 0 {
				s.bend = nil
				_, err = store.Get(t.Context(), "debian")
				require.NoError(t, err, "once it is mended")
			}
		})
	}
}

// An image that has its digest but is another than the record says, or whose file is another.
func TestGetWhatTheRecordDoesNotSay(t *testing.T) {
	t.Parallel()
	s := newMemory(t)
	a, b := s.image(t, "a", "hello"), s.image(t, "b", "hallo")
	dir := t.TempDir()
	store := s.open(t, imagecache.Config{Dir: dir, Refresh: time.Nanosecond})
	for name, change := range map[string]func(i *core.Image){
		"fewer files": func(i *core.Image) { i.Files-- },
		"more files":  func(i *core.Image) { i.Files++ },
		"fewer bytes": func(i *core.Image) { i.Bytes-- },
		"more bytes":  func(i *core.Image) { i.Bytes++ },
		"smaller":     func(i *core.Image) { i.Size-- },
	} {
		wrong := a
		change(&wrong)
		require.NoError(t, s.store.PutImage(t.Context(), wrong))
		_, err := store.Get(t.Context(), "a")
		require.Contains(t, []core.Code{core.CodeInvalid, core.CodeLimit}, core.CodeOf(err), name)
		empty(t, dir)
	}
	s.bend = func(r io.ReadCloser, digest string) (io.ReadCloser, error) {
		if digest == a.Digest {
			_ = r.Close()
			return s.Blobs.Open(context.Background(), b.Digest)
		}
		return r, nil
	}
	a.Size = max(a.Size, b.Size)
	require.NoError(t, s.store.PutImage(t.Context(), a))
	_, err := store.Get(t.Context(), "a")
	requireCode(t, core.CodeUnavailable, err)
	require.ErrorContains(t, err, "damaged")
	empty(t, dir)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A caller who stops waiting does not stop the fetch.
func TestGetGoesOnWithoutItsCaller(t *testing.T) {
	t.Parallel()
	root(t)
	s := newMemory(t)
	s.image(t, "debian", "hello")
	begun, proceed := make(chan struct{}), make(chan struct{})
	s.gate = func(ctx context.Context) error {
		close(begun)
		select {
		case <-proceed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	store := s.open(t, imagecache.Config{Dir: t.TempDir()})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := store.Get(ctx, "debian")
		done <- err
	}()
	<-begun
	cancel()
	err := <-done
	requireCode(t, core.CodeUnavailable, err)
	require.ErrorContains(t, err, "downloading image")
	require.NotErrorIs(t, err, vmfactory.ErrFetching, "nobody waits any more")
	late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	_, err = store.Get(late, "debian")
	requireCode(t, core.CodeUnavailable, err)
	require.ErrorIs(t, err, vmfactory.ErrFetching)
	close(proceed)
	_, err = store.Get(t.Context(), "debian")
	require.NoError(t, err)
	require.EqualValues(t, 1, s.opens.Load())
}

func TestCloseEndsFetches(t *testing.T) {
	t.Parallel()
	s := newMemory(t)
	s.image(t, "debian", "hello")
	begun := make(chan struct{})
	s.gate = func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		return ctx.Err()
	}
	dir := t.TempDir()
	store := s.open(t, imagecache.Config{Dir: dir})
	done := make(chan error)
	go func() {
		_, err := store.Get(t.Context(), "debian")
		done <- err
	}()
	<-begun
	require.NoError(t, store.Close())
	requireCode(t, core.CodeUnavailable, <-done)
	empty(t, dir)
	_, err := store.Get(t.Context(), "debian")
	requireCode(t, core.CodeUnavailable, err)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := imagecache.Open(imagecache.Config{})
	requireCode(t, core.CodeInvalid, err)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = imagecache.Open(imagecache.Config{Dir: file})
	requireCode(t, core.CodeUnavailable, err)
}
