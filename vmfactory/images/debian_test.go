package images_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core/rootfs"
	"drover/core/rootfs/imagetest"
	"drover/vmfactory/images"
)

// A system built of packages works where a host keeps it, and cannot be changed there.
func TestRealImage(t *testing.T) {
	t.Parallel()
	root(t)
	s := newShelf(t)
	made := imagetest.Debian(t, rootfs.Store{Images: s.store, Blobs: s.Blobs}, "debian")
	store := s.open(t, images.Config{Dir: t.TempDir()})
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
	require.Empty(t, out, "whoever a program runs as, it can read all")

	for _, path := range []string{"new", "etc/new", "usr/bin/new"} {
		require.ErrorIs(t, syscall.Mkdir(filepath.Join(r.Path, path), 0o700), syscall.EROFS)
	}
}

// The languages that people are graded in work on a system that is read-only but for /tmp.
func TestLanguages(t *testing.T) {
	t.Parallel()
	root(t)
	s := newShelf(t)
	made := imagetest.Debian(t, rootfs.Store{Images: s.store, Blobs: s.Blobs}, "languages", imagetest.Languages...)
	store := s.open(t, images.Config{Dir: t.TempDir()})
	r, err := store.Get(t.Context(), "languages")
	require.NoError(t, err)
	t.Logf("%d files, %d MiB, packed %d MiB", made.Files, made.Bytes>>20, made.Size>>20)
	for name, script := range map[string]string{
		"c":      `echo '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }' >a.c && gcc -O2 -o a a.c && ./a`,
		"c++":    `echo '#include <iostream>\nint main() { std::cout << "hello" << std::endl; }' >a.cc && g++ -o a a.cc && ./a`,
		"go":     `echo 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }' >a.go && GOCACHE=/tmp/cache go run a.go`,
		"python": `echo 'print("hello")' >a.py && python3 a.py`,
		"sh":     `echo hello`,
	} {
		// Its mounts are in a namespace of their own and end with it.
		cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", `mount -t tmpfs none "$0/tmp" && mount -t tmpfs none "$0/dev" && mknod -m 666 "$0/dev/null" c 1 3 &&
			mount -t proc none "$0/proc" && exec chroot "$0" sh -c "cd /tmp; $1"`, r.Path, script)
		cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		require.Equal(t, "hello\n", string(out), name)
	}
}
