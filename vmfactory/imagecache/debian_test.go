package imagecache_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/coretest/tier"
	"drover/core/images"
	"drover/core/images/imagetest"
	"drover/vmfactory/imagecache"
)

// A system built of packages works where a host keeps it, and cannot be changed there.
func TestRealImage(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	root(t)
	s := newMemory(t)
	made := imagetest.Debian(t, images.Store{Images: s.store, Blobs: s.Blobs}, "debian")
	store := s.open(t, imagecache.Config{Dir: t.TempDir()})
	r, err := store.Get(t.Context(), "debian")
	require.NoError(t, err)
	t.Logf("%d files, %d MiB, packed %d MiB", made.Files, made.Bytes>>20, made.Size>>20)

	run := func(script string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: r.Path, Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	out, err := run("cat /etc/debian_version && ls /usr/share/doc /var/log /var/cache /dev /tmp && test ! -e /etc/shadow && find / -perm /7000 && find / ! -user 0")
	require.NoError(t, err, out)
	require.Regexp(t, `^12\.`, out)
	require.NotContains(t, out, "copyright")
	out, err = run("find / ! -type l ! -readable -o -type d ! -executable")
	require.NoError(t, err, out)
	require.Empty(t, out, "every user can read all files")

	for _, path := range []string{"new", "etc/new", "usr/bin/new"} {
		require.ErrorIs(t, syscall.Mkdir(filepath.Join(r.Path, path), 0o700), syscall.EROFS)
	}
}
