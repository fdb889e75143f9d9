// Package imagetest gives tests real images: systems built from packages of
// Debian, once for all tests, kept in .cache at the top of the source tree.
package imagetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/images"
	"drover/core/images/debian"
)

// Suite is the Debian that images are built of.
const Suite = "bookworm"

// Languages are the packages to compile C and to run Python.
var Languages = []string{"gcc", "libc6-dev", "python3-minimal"}

// buildTimeout bounds a build, and the wait for another test's.
const buildTimeout = time.Hour

// Debian keeps an image of packages beside what every Debian has, such as sh,
// under a name, and returns it. It is built at most once on a machine. Without
// network, tool or rights the test is skipped, and fails where all must run.
func Debian(t testing.TB, to images.Store, name string, packages ...string) core.Image {
	t.Helper()
	tier.Need(t, tier.LXC)
	spec := debian.Spec{Suite: Suite, Packages: slices.Sorted(slices.Values(packages))}
	file, err := built(t, spec)
	if err != nil {
		missing(t, err)
	}
	var image core.Image
	record, err := os.ReadFile(file + ".json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(record, &image))
	content, err := os.Open(file)
	require.NoError(t, err)
	digest, _, err := to.Blobs.Put(t.Context(), content, image.Size)
	require.NoError(t, errors.Join(err, content.Close()))
	require.Equal(t, image.Digest, digest, "remove %s, it is damaged", file)
	image.Name = name
	require.NoError(t, to.Images.PutImage(t.Context(), image))
	return image
}

// missing skips a test, or fails it where all must run.
func missing(t testing.TB, err error) {
	t.Helper()
	const text = "an image cannot be built here: %v"
	if os.Getenv("CI") == "true" {
		t.Fatalf(text, err)
	}
	t.Skipf(text, err)
}

// built returns the file of an image, with its record beside it as JSON.
func built(t testing.TB, spec debian.Spec) (file string, err error) {
	t.Helper()
	dir := cache(t)
	sum := sha256.Sum256([]byte(strings.Join(append([]string{format, runtime.GOARCH, spec.Suite}, spec.Packages...), " ")))
	file = filepath.Join(dir, hex.EncodeToString(sum[:8])+".tar.zst")
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	lock := flock.New(filepath.Join(dir, "lock"))
	const look = 100 * time.Millisecond
	if ok, err := lock.TryLockContext(ctx, look); !ok {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := os.Stat(file + ".json"); err == nil {
		return file, nil
	}
	return file, build(ctx, t, spec, file)
}

// format names the form of images; another one is built anew.
const format = "1"

// build builds an image, which is there whole as soon as its record is, by a program that
// is built without the race detector.
func build(ctx context.Context, t testing.TB, spec debian.Spec, file string) error {
	t.Helper()
	began := time.Now()
	program := filepath.Join(t.TempDir(), "make")
	compile := exec.CommandContext(ctx, "go", "build", "-o", program, "drover/core/images/imagetest/make")
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := compile.CombinedOutput()
	if err == nil {
		makes := exec.CommandContext(ctx, program, append([]string{file, spec.Suite}, spec.Packages...)...)
		runtime.LockOSThread() // the end of this thread would be taken for the end of the test
		defer runtime.UnlockOSThread()
		makes.Cancel = func() error { return makes.Process.Signal(syscall.SIGTERM) }
		makes.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
		out, err = makes.CombinedOutput()
	}
	if err != nil {
		t.Logf("%s", out)
		return err
	}
	t.Logf("built an image of %v in %s", spec.Packages, time.Since(began))
	return nil
}

// cache is where images are kept between runs.
func cache(t testing.TB) string {
	t.Helper()
	top, err := os.Getwd()
	require.NoError(t, err)
	for ; ; top = filepath.Dir(top) {
		if text, err := os.ReadFile(filepath.Join(top, "go.mod")); err == nil && bytes.HasPrefix(text, []byte("module drover\n")) {
			break
		}
		require.NotEqual(t, "/", top, "the test does not run in the source tree")
	}
	dir := filepath.Join(top, ".cache", "images")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}
