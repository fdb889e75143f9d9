package lxc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// testDigest stands for the digest of the tests' image.
const testDigest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"

// oneImage is a store of one image.
type oneImage struct{ path string }

// Rootfs implements Images.
func (i oneImage) Rootfs(context.Context, string) (digest, path string, err error) {
	return testDigest, i.path, nil
}

// tools are what the suite's commands use.
var tools = []string{
	"sh", "cat", "chmod", "cp", "dd", "echo", "env", "false", "grep", "head", "id", "ls", "mkdir", "mount", "printf", "readlink", "rm", "sed", "seq", "sleep",
	"sort", "tail", "test", "touch", "tr", "true", "umount", "wc", "whoami", "yes",
}

// image makes the tests' image of this machine's own programs and libraries: small
// enough to copy, and with what the test binary needs, which dials in VMs.
// It is made once for all tests and the processes that they start.
func image(t *testing.T) string {
	t.Helper()
	path, err := imageFolder()
	require.NoError(t, err)
	return path
}

const knownImage = "DROVER_TEST_IMAGE"

var imageFolder = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(knownImage); path != "" {
		return path, nil
	}
	defer unix.Umask(unix.Umask(0)) // VMs' users must reach its files, as those of an image that was unpacked
	root, err := os.MkdirTemp("", "drover-image-")
	if err != nil {
		return "", err
	}
	made = append(made, root)
	for _, folder := range []string{"dev", "etc", "home", "mnt", "proc", "run", "srv", "tmp", "usr/bin", "usr/lib", "usr/local/bin", "usr/sbin", "var/tmp"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return "", err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	all := []string{self}
	for _, name := range tools {
		if path, err := exec.LookPath(name); err == nil {
			all = append(all, path)
		}
	}
	for link, to := range map[string]string{"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib", "usr/bin/" + flooder: dialer, "usr/bin/" + knocker: dialer, "usr/bin/" + seeker: dialer} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			return "", err
		}
	}
	for _, text := range []struct{ name, text string }{
		{"passwd", "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/:/bin/false\nother:x:1000:1000::/:/bin/sh\n"},
		{"group", "root:x:0:\ndaemon:x:1:\n"},
		{"hosts", ""},
		{"hostname", "image\n"},
		{"resolv.conf", ""},
	} {
		if err := os.WriteFile(filepath.Join(root, "etc", text.name), []byte(text.text), 0o644); err != nil {
			return "", err
		}
	}
	if err := errors.Join(copyPrograms(root, all), os.Chmod(root, 0o755), os.Setenv(knownImage, root)); err != nil {
		return "", err
	}
	return root, nil
})

var library = regexp.MustCompile(`(?m)(/\S+) \(0x`)

// copyPrograms copies programs, the first of which is called dialer, with the
// libraries that they load, by ldd's word.
func copyPrograms(root string, all []string) error {
	seen := map[string]bool{}
	copyOne := func(from, at string) error {
		if seen[at] {
			return nil
		}
		seen[at] = true
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		at = filepath.Join(root, at)
		return errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, text, 0o755))
	}
	for i, path := range all {
		out, err := exec.Command("ldd", path).Output() // a static program has none
		if err != nil && !errors.As(err, new(*exec.ExitError)) {
			return fmt.Errorf("ldd: %w", err)
		}
		for _, found := range library.FindAllStringSubmatch(string(out), -1) {
			at := found[1]
			if !strings.HasPrefix(at, "/usr/") {
				at = "/usr" + at
			}
			if strings.HasPrefix(at, "/usr/lib64/") {
				at = strings.Replace(at, "/usr/lib64/", "/usr/lib/", 1)
			}
			if err := copyOne(found[1], at); err != nil {
				return err
			}
		}
		name := filepath.Base(path)
		if i == 0 {
			name = dialer
		}
		if err := copyOne(path, filepath.Join("/usr/bin", name)); err != nil {
			return err
		}
	}
	return nil
}

// removeFixtures removes what was made for all tests, unless another process made it.
func removeFixtures() {
	for _, path := range made {
		if err := os.RemoveAll(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

var made []string
