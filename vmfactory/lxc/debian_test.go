package lxc

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs"
	"drover/core/coretest/tier"
	"drover/core/images"
	"drover/core/images/imagetest"
	"drover/core/store/sqlite"
	"drover/vmfactory"
	"drover/vmfactory/imagecache"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/programs"
)

// debian is an image of Debian packages, unpacked on this host.
type debian struct{ *imagecache.Store }

// Rootfs implements Images.
func (d debian) Rootfs(ctx context.Context, ref string) (digest, path string, err error) {
	r, err := d.Get(ctx, ref)
	return r.Digest, r.Path, err
}

// newDebian makes an image of packages and has it ready for VMs.
func newDebian(t *testing.T, name string, packages ...string) (debian, core.Image) {
	t.Helper()
	dir, err := os.MkdirTemp("", "drover-images-") // t.TempDir's are closed to VMs' users
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "drover.db"), sqlite.Options{})
	require.NoError(t, err)
	blobs, err := blobs.Open(t.Context(), "file://"+filepath.Join(dir, "blobs"))
	require.NoError(t, err)
	host, err := imagecache.Open(imagecache.Config{Dir: filepath.Join(dir, "images"), Images: store, Blobs: blobs})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(host.Close(), store.Close(), blobs.Close(), os.RemoveAll(dir))) })
	return debian{host}, imagetest.Debian(t, images.Store{Images: store, Blobs: blobs}, name, packages...)
}

// A container of Debian packages runs a job within the limits of an ordinary pool, and
// cannot change its image. What the usual languages need, cmd/drover's TestGradingInContainers
// builds and grades in.
func TestDebian(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	providertest.Need(t, linked, "a build with -tags lxc, and lxc-dev")
	providertest.Need(t, os.Geteuid() == 0, "root")
	from, image := newDebian(t, "debian")
	scene := providertest.NewScene(t, func(t *testing.T, run string) vmfactory.Provider {
		t.Helper()
		p, err := New(Config{Run: run, Images: from, Agent: programs.Agent(t)})
		require.NoError(t, err)
		if err := p.Ready(t.Context()); err != nil {
			require.NoError(t, p.Close())
			providertest.Need(t, false, "a machine that can make containers: "+err.Error())
		}
		return p
	})
	pool := core.DefaultPool("grading")
	pool.Provider, pool.Image = Name, "debian"
	pool.Limits.Timeout, pool.Limits.Memory, pool.Limits.Disk = time.Minute, 512<<20, 256<<20
	digest, err := scene.Provider.Image(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, image.Digest, digest)

	v := scene.Armed(t, pool)
	o := v.Do(t, core.Limits{}, nil, "/bin/sh", "-c", `perl -e 'print "hello\n"' && cut -d. -f1 /etc/debian_version`)
	assert.Equal(t, "hello\n12\n", o.Stdout, o.Stderr)
	assert.Zero(t, o.Code)
	o = v.Do(t, core.Limits{}, nil, "/bin/sh", "-c", "touch /usr/bin/new /etc/new")
	assert.NotZero(t, o.Code)
	assert.Contains(t, o.Stderr, "Read-only file system")
}

// A pool whose image is not there says so, and leaves nothing.
func TestImageIsMissing(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	providertest.Need(t, linked, "a build with -tags lxc, and lxc-dev")
	providertest.Need(t, os.Geteuid() == 0, "root")
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "drover.db"), sqlite.Options{})
	require.NoError(t, err)
	host, err := imagecache.Open(imagecache.Config{Dir: t.TempDir(), Images: store})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(host.Close(), store.Close())) })
	p, err := New(Config{Run: folder(t), Images: debian{host}, Agent: "/none"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	pool := core.DefaultPool("grading")
	pool.Image = "nosuch"
	err = p.Create(t.Context(), "vm", pool)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "there is no image nosuch")
	_, err = p.Image(t.Context(), pool)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
}
