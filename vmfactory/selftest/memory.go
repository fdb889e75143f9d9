package selftest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"drover/core"
	"drover/vmfactory"
)

// Memory makes tests, and records passed ones in a folder: as long as nothing of what was tested has changed, a
// restarted vmfactory skips the test.
type Memory struct {
	Run     string // the host's run folder
	Version string // of drover

	run func(ctx context.Context, p vmfactory.Provider, folder string, pool core.Pool, vm string) core.SelfTest // nil: Run
}

// timeout bounds a whole test. It takes a few seconds at most, and on an idle host about one.
const timeout = time.Minute

// maxMemory bounds the bytes that are read of a recorded test.
const maxMemory = 64 << 10

// Trial is Run within a minute, unless the same was tested and passed before. It implements vmfactory.Trial.
func (m Memory) Trial(ctx context.Context, p vmfactory.Provider, pool core.Pool, vm string) core.SelfTest {
	of, err := m.of(ctx, p, pool)
	if err != nil {
		return core.SelfTest{Fault: "the self-test could not be made: " + err.Error()}
	}
	path := filepath.Join(m.Run, "selftest-"+p.Name()+".json")
	if was, ok := recall(path); ok && was.Of == of && was.Verdict() != core.VerdictFail {
		return was
	}
	run := m.run
	if run == nil {
		run = Run
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res := run(bounded, p, m.Run, pool, vm)
	res.Of = of
	if res.Verdict() == core.VerdictFail {
		err = os.Remove(path)
	} else {
		err = remember(path, res)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// A passed test counts even if it cannot be recorded: it is repeated at the next start.
		_ = os.Remove(path)
	}
	return res
}

// of returns a name for what is tested: if any of it changes, the test must be repeated.
func (m Memory) of(ctx context.Context, p vmfactory.Provider, pool core.Pool) (string, error) {
	image, err := p.Image(ctx, pool)
	if err != nil {
		return "", err
	}
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	state := sha256.New()
	_, _ = state.Write(boot) // never fails
	for _, l := range p.Limits() {
		_, _ = fmt.Fprintf(state, "%s by %s\n", l.Name, l.HeldBy)
	}
	return fmt.Sprintf("drover %s, Linux %s, %s with %s, state %x",
		m.Version, unix.ByteSliceToString(kernel.Release[:]), p.Name(), image, state.Sum(nil)[:4]), nil
}

func recall(path string) (core.SelfTest, bool) {
	var was core.SelfTest
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxMemory {
		return was, false
	}
	text, err := os.ReadFile(path)
	return was, err == nil && json.Unmarshal(text, &was) == nil && len(was.Attacks) == len(attacks)
}

// remember records a test atomically.
func remember(path string, res core.SelfTest) error {
	text, err := json.Marshal(res)
	if err != nil {
		return err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
