package mongotest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// build returns the path of the server, which it builds unless this very source was built on
// this machine before. Packages under test share it.
func build() (string, error) {
	module, err := output("go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	source := filepath.Join(filepath.Dir(module), "scripts", "ferretdb")
	key, err := digest(source)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "drover")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "ferretdb.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // until it is closed
		return "", err
	}
	program := filepath.Join(dir, "ferretdb-"+key)
	if _, err := os.Stat(program); !errors.Is(err, fs.ErrNotExist) {
		return program, err
	}
	if err := forget(dir); err != nil {
		return "", err
	}
	fresh := filepath.Join(dir, "ferretdb.new")
	if _, err := output("go", "-C", source, "build", "-trimpath", "-o", fresh, "."); err != nil {
		return "", err
	}
	return program, os.Rename(fresh, program)
}

// forget removes servers of former sources that nobody can be using any more.
func forget(dir string) error {
	older, err := filepath.Glob(filepath.Join(dir, "ferretdb-*"))
	for _, path := range older {
		about, failed := os.Stat(path)
		if failed == nil && time.Since(about.ModTime()) > 24*time.Hour {
			failed = os.Remove(path)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// digest names the source of the server, and what builds it.
func digest(source string) (string, error) {
	all := sha256.New()
	fmt.Fprintln(all, runtime.Version())
	files, err := filepath.Glob(filepath.Join(source, "*"))
	for _, path := range files {
		text, failed := os.ReadFile(filepath.Clean(path))
		err = errors.Join(err, failed)
		fmt.Fprintln(all, filepath.Base(path), len(text))
		all.Write(text)
	}
	return hex.EncodeToString(all.Sum(nil)[:8]), err
}

// output runs a command and returns what it printed, without the last line's end.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output() //nolint:noctx // it is to be done for all tests
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
