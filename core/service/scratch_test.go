package service_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/service"
)

const (
	scratchPrefix   = "drover-scratch-"
	scratchVariable = "SCRATCH_TEST"
)

// makeScratch is what the process does that is killed.
func makeScratch() {
	s, err := service.NewScratch(scratchPrefix)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "file"), []byte("text"), 0o600); err != nil {
		panic(err)
	}
	fmt.Println("made", s.Dir)
	// Until it is killed, or its parent has died. Without cgo Go ends a program that waits for nothing.
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// makerOf starts this test binary again to make a folder, and returns that and
// how to kill its process.
func makerOf(t *testing.T, top string) (dir string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestScratchOfTheDeadIsRemoved$")
	cmd.Env = append(os.Environ(), scratchVariable+"=1", "TMPDIR="+top)
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill() // it may be dead already
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if dir, ok := strings.CutPrefix(lines.Text(), "made "); ok {
			return dir, kill
		}
	}
	t.Fatal("it made none")
	return "", nil
}

func TestScratchOfTheDeadIsRemoved(t *testing.T) {
	if os.Getenv(scratchVariable) != "" {
		makeScratch()
	}
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	dead, kill := makerOf(t, top)
	living, _ := makerOf(t, top)
	require.FileExists(t, filepath.Join(dead, "file"), "nobody sweeps what lives")
	kill()
	elsewhere := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "precious"), nil, 0o600))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(top, scratchPrefix+"link")))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(dead, "link")))
	require.NoError(t, os.Mkdir(filepath.Join(top, "."+scratchPrefix+"new"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(top, "drover-other-1"), 0o700))

	s, err := service.NewScratch(scratchPrefix)
	require.NoError(t, err)
	require.NoDirExists(t, dead)
	require.FileExists(t, filepath.Join(living, "file"))
	require.FileExists(t, filepath.Join(elsewhere, "precious"), "links are not followed")
	require.DirExists(t, filepath.Join(top, "."+scratchPrefix+"new"), "another process is just making it")
	require.DirExists(t, filepath.Join(top, "drover-other-1"))
	info, err := os.Stat(s.Dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	require.NoError(t, s.Remove())
	require.NoDirExists(t, s.Dir)
}

// Where others can put something else into a folder's place, nothing is swept.
func TestScratchIsNotSweptWhereOthersCanSwapIt(t *testing.T) {
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	dead, kill := makerOf(t, top)
	kill()
	require.NoError(t, os.Chmod(top, 0o777))
	s, err := service.NewScratch(scratchPrefix)
	require.NoError(t, err)
	require.NoError(t, s.Remove())
	require.DirExists(t, dead)
	require.NoError(t, os.Chmod(top, 0o777|os.ModeSticky))
	s, err = service.NewScratch(scratchPrefix)
	require.NoError(t, err)
	require.NoError(t, s.Remove())
	require.NoDirExists(t, dead)
}

// What lives in a folder is ended before it goes; where that fails, the folder stays.
func TestSweepScratchEndsWhatLivesThere(t *testing.T) {
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	dead, kill := makerOf(t, top)
	living, _ := makerOf(t, top)
	kill()
	for _, fails := range []error{errors.New("it does not end"), nil} {
		var ended []string
		service.SweepScratch(scratchPrefix, func(dir string) error {
			require.FileExists(t, filepath.Join(dir, "file"))
			ended = append(ended, dir)
			return fails
		})
		require.Equal(t, []string{dead}, ended)
		if fails != nil {
			require.FileExists(t, filepath.Join(dead, "file"))
		}
	}
	require.NoDirExists(t, dead)
	require.DirExists(t, living)
}

// A folder that another process removed since the sweep saw it has nothing in it to end.
func TestSweepScratchPassesOverWhatIsGone(t *testing.T) {
	t.Parallel()
	service.RemoveAbandoned(filepath.Join(t.TempDir(), "gone"), func(dir string) error {
		t.Errorf("%s is not there", dir)
		return nil
	})
}

func TestScratchSaysWhereItCannotBeMade(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	_, err := service.NewScratch(scratchPrefix)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "TMPDIR")
}

// A sweeper that comes while a folder is being removed finds no name to sweep: it
// would put a new lock into what is half gone.
func TestScratchIsRemovedWhileOthersSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ended := make(chan struct{})
	var sweepers sync.WaitGroup
	for range 4 {
		sweepers.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					service.SweepScratch(scratchPrefix, nil)
				}
			}
		})
	}
	defer sweepers.Wait()
	defer close(ended)
	for range 40 {
		s, err := service.NewScratch(scratchPrefix)
		require.NoError(t, err)
		for i := range 20 {
			require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "file"+strconv.Itoa(i)), nil, 0o600))
		}
		require.NoError(t, s.Remove())
		require.NoDirExists(t, s.Dir)
	}
}
