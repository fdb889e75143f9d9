package neighbour

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"drover/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// child is another process, with a note.
type child struct {
	cmd  *exec.Cmd
	note Note
}

func newChild(t *testing.T, dir string) *child {
	t.Helper()
	c := &child{cmd: exec.Command("cat")} // lives until its input ends
	input, err := c.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() {
		_ = input.Close()
		_ = c.cmd.Wait() // killed or not
	})
	c.note, err = mine("testrunner@h1#0", 7)
	require.NoError(t, err)
	c.note.PID = c.cmd.Process.Pid
	c.note.Started, err = startOf(c.note.PID)
	require.NoError(t, err)
	require.NoError(t, c.note.write(dir))
	return c
}

// declaration is one call of DeclareDead.
type declaration struct {
	owner string
	epoch int64
}

// watched runs a Watch whose declarations end as the errors say, one after the other.
func watched(t *testing.T, dir string, ends ...error) (declared chan declaration, notices *atomic.Int64) {
	t.Helper()
	notices = &atomic.Int64{}
	declared = make(chan declaration, 16)
	w := &Watch{Dir: dir, Every: time.Millisecond, Notice: func(string, string, error) { notices.Add(1) }, DeclareDead: func(_ context.Context, owner string, epoch int64) error {
		var err error
		if len(ends) > 0 {
			err, ends = ends[0], ends[1:]
		}
		declared <- declaration{owner, epoch}
		return err
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return declared, notices
}

func requireNoNotes(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		entries, err := os.ReadDir(dir)
		return err == nil && len(entries) == 0
	}, 5*time.Minute, time.Millisecond)
}

func TestADeathIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newChild(t, dir)
	declared, _ := watched(t, dir)
	require.NoError(t, c.cmd.Process.Kill())
	require.Equal(t, declaration{"testrunner@h1#0", 7}, <-declared)
	requireNoNotes(t, dir)
	require.Empty(t, declared)
}

func TestADeathBeforeTheFirstLook(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newChild(t, dir)
	require.NoError(t, c.cmd.Process.Kill())
	require.Error(t, c.cmd.Wait())
	declared, _ := watched(t, dir)
	require.Equal(t, declaration{"testrunner@h1#0", 7}, <-declared)
	requireNoNotes(t, dir)
}

// Its number belongs to another process by now, which lives.
func TestANumberThatWasGivenAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newChild(t, dir)
	c.note.Started--
	require.NoError(t, c.note.write(dir))
	declared, _ := watched(t, dir)
	require.Equal(t, declaration{"testrunner@h1#0", 7}, <-declared)
}

// The process of a note from before the host's restart is gone, even if another process has its number.
func TestANoteOfAnotherBoot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := newChild(t, dir)
	c.note.Boot = "another"
	require.NoError(t, c.note.write(dir))
	declared, _ := watched(t, dir)
	require.Equal(t, declaration{"testrunner@h1#0", 7}, <-declared)
	requireNoNotes(t, dir)
}

// Who cannot look because it is short of descriptors says so, and does not take a living
// neighbour for dead. Not beside other tests: the limit is this whole process's.
func TestAWatcherShortOfDescriptorsDeclaresNobodyDead(t *testing.T) { //nolint:paralleltest // see above
	c := newChild(t, t.TempDir())
	r, w, err := os.Pipe() // what the runtime opens once it has by now
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, gone(over, c.note), "it lives")

	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	free, err := unix.Dup(int(r.Fd())) // the lowest free number
	require.NoError(t, err)
	require.NoError(t, unix.Close(free))
	for left := range uint64(3) { // from none on
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(free) + left, Max: before.Max}))
		err = gone(over, c.note)
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
		require.Error(t, err, "it lives, and %d descriptors are left", left)
	}
}

func TestWhoDeregistersIsNotDeclaredDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leaves, dies := newChild(t, dir), newChild(t, t.TempDir())
	dies.note.Owner = "vmfactory@h1#0"
	require.NoError(t, dies.note.write(dir))
	declared, _ := watched(t, dir)
	leaves.note.remove(dir)
	require.NoError(t, leaves.cmd.Process.Kill())
	require.NoError(t, dies.cmd.Process.Kill())
	require.Equal(t, declaration{"vmfactory@h1#0", 7}, <-declared)
	requireNoNotes(t, dir)
	require.Empty(t, declared)
}

func TestNotesOfOtherNamespacesAndOursAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	far, dies := newChild(t, dir), newChild(t, t.TempDir())
	far.note.remove(dir)
	far.note.Space, far.note.PID = "pid:[1]", 1<<22
	require.NoError(t, far.note.write(dir))
	own, err := mine("taskrunner@h1#0", 3)
	require.NoError(t, err)
	require.NoError(t, own.write(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "no-note"), []byte("{}"), 0o600))
	dies.note.Owner = "vmfactory@h1#0"
	require.NoError(t, dies.note.write(dir))
	declared, _ := watched(t, dir)
	require.NoError(t, dies.cmd.Process.Kill())
	require.Equal(t, declaration{"vmfactory@h1#0", 7}, <-declared)
	require.Eventually(t, func() bool {
		_, err := os.Stat(dies.note.path(dir))
		return os.IsNotExist(err)
	}, 5*time.Minute, time.Millisecond)
	require.Empty(t, declared)
	for _, name := range []string{far.note.path(dir), own.path(dir), filepath.Join(dir, "no-note")} {
		require.FileExists(t, name)
	}
}

func TestADeclarationIsTriedUntilItIsDone(t *testing.T) {
	t.Parallel()
	away := core.Errorf(core.CodeUnavailable, "", "Redis is away")
	for name, end := range map[string]error{
		"done": nil, "a newer epoch": core.Errorf(core.CodeConflict, "", "newer"), "forgotten": core.Errorf(core.CodeNotFound, "", "none"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := newChild(t, dir)
			declared, notices := watched(t, dir, away, away, end)
			require.NoError(t, c.cmd.Process.Kill())
			for range 3 {
				<-declared
			}
			requireNoNotes(t, dir)
			require.Empty(t, declared)
			noticed := int64(1)
			if end == nil {
				noticed++
			}
			require.Equal(t, noticed, notices.Load(), "trouble once, and a declaration")
		})
	}
}

// owners registers everybody under growing epochs.
type owners struct {
	core.Owners
	epoch int64
	end   error
}

func (o *owners) Register(context.Context, core.Registration) (core.Registered, error) {
	o.epoch++
	return core.Registered{Epoch: o.epoch}, o.end
}

func (o *owners) Deregister(context.Context, string, int64) error { return o.end }

func TestOwnersLeaveNotes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "owners")
	inner := &owners{}
	o := Owners{Owners: inner, Dir: dir, Notice: func(string, string, error) { t.Error("nothing is wrong") }}
	reg := core.Registration{Owner: "testrunner@h1#0", Host: "h1"}
	for range 2 { // the second epoch's note takes the place of the first's
		_, err := o.Register(t.Context(), reg)
		require.NoError(t, err)
	}
	notes, whole, err := list(dir)
	require.NoError(t, err)
	require.True(t, whole)
	require.Len(t, notes, 1)
	started, err := startOf(os.Getpid())
	require.NoError(t, err)
	boot, err := bootOf()
	require.NoError(t, err)
	require.Equal(t, Note{Owner: reg.Owner, Epoch: 2, PID: os.Getpid(), Started: started, Space: notes[0].Space, Boot: boot}, notes[0])
	require.NotEmpty(t, Process())

	inner.end = core.Errorf(core.CodeConflict, "", "it holds something")
	require.Error(t, o.Deregister(t.Context(), reg.Owner, 2))
	require.FileExists(t, notes[0].path(dir), "it is still there")
	inner.end = nil
	require.NoError(t, o.Deregister(t.Context(), reg.Owner, 2))
	requireNoNotes(t, dir)
}

// Without notes an owner works all the same.
func TestANoteThatCannotBeLeft(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	notices := 0
	o := Owners{Owners: &owners{}, Dir: dir, Notice: func(string, string, error) { notices++ }}
	_, err := o.Register(t.Context(), core.Registration{Owner: "testrunner@h1#0"})
	require.NoError(t, err)
	require.Equal(t, 1, notices)
}

// The notes are read again only when the folder has changed, or may have since it was read.
func TestAFolderThatDoesNotChangeIsReadOnce(t *testing.T) {
	t.Parallel()
	w := &Watch{Dir: t.TempDir(), watching: make(map[Note]bool)}
	require.False(t, w.unchanged())
	require.False(t, w.unchanged(), "it has changed just now: another change may have the same time")

	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(w.Dir, old, old))
	require.False(t, w.unchanged())
	require.True(t, w.unchanged())
	w.again()
	require.False(t, w.unchanged(), "not all of it could be read")
	require.True(t, w.unchanged())
	w.end(Note{})
	require.False(t, w.unchanged(), "a note is not watched any more")
	require.True(t, w.unchanged())
	require.NoError(t, os.WriteFile(filepath.Join(w.Dir, "new"), nil, 0o600))
	require.False(t, w.unchanged())
	w.Dir = filepath.Join(w.Dir, "none")
	require.False(t, w.unchanged())
	require.False(t, w.unchanged())
}
