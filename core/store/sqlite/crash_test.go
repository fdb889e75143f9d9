package sqlite_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"drover/core"
	"drover/core/store/sqlite"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// What a child process is told by its environment.
const (
	childFile = "DROVER_TEST_STORE" // the file to work on
	childWork = "DROVER_TEST_WORK"  // create, lease, or the ids to record, comma separated
	childName = "DROVER_TEST_NAME"
)

// child starts this test binary as another process on the file.
func child(t *testing.T, file, name, work string) (*exec.Cmd, io.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$") // this binary
	cmd.Env = append(os.Environ(), childFile+"="+file, childName+"="+name, childWork+"="+work)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, out
}

// TestChild is what the other processes do: they print each id once the store
// has answered for it.
func TestChild(t *testing.T) {
	t.Parallel()
	file := os.Getenv(childFile)
	if file == "" {
		t.Skip("only for other tests, as their child process")
	}
	s := open(t, file)
	if os.Getenv(childWork) == "lease" {
		writeLease(t, s)
	}
	if os.Getenv(childWork) == "create" {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					spec := storetest.Spec("ann")
					if _, _, err := s.Create(t.Context(), spec); err != nil {
						t.Error(err)
						return
					}
					fmt.Println("created " + spec.ID)
				}
			})
		}
		all.Wait() // for the SIGKILL
	}
	for id := range strings.SplitSeq(os.Getenv(childWork), ",") {
		is, err := s.Record(t.Context(), core.Result{ID: id, Generation: 1, State: core.RequestCompleted, Token: os.Getenv(childName)})
		require.NoError(t, err)
		fmt.Println(map[bool]string{true: "accepted ", false: "refused "}[is] + id)
	}
}

func TestKilledAfterCreate(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		path := filepath.Join(t.TempDir(), "drover.db")
		cmd, out := child(t, path, "", "create")
		var told []string
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if id, ok := strings.CutPrefix(lines.Text(), "created "); ok {
				told = append(told, id)
			}
			if len(told) == 100*(round+1) {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.ErrorContains(t, cmd.Wait(), "killed")
		require.GreaterOrEqual(t, len(told), 100*(round+1))

		s := open(t, path)
		for _, id := range told {
			row, err := s.Get(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, core.RequestQueued, row.State)
		}
		require.NoError(t, s.Ping(t.Context()))
	}
}

// Ends that were recorded before a crash are in the outbox, and repeating what was
// not answered puts each there once.
func TestKilledAfterRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	s := open(t, path)
	var ids []string
	var want []core.Notice
	for range 500 {
		spec := storetest.Spec("ann")
		spec.Notify = []string{"w"}
		_, _, err := s.Create(t.Context(), spec)
		require.NoError(t, err)
		ids = append(ids, spec.ID)
		want = append(want, core.Notice{Event: core.EventRequestEnded, Key: spec.Key()})
	}
	cmd, out := child(t, path, "1.1", strings.Join(ids, ","))
	told := 0
	for lines := bufio.NewScanner(out); lines.Scan(); told++ {
		if told == 100 {
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.ErrorContains(t, cmd.Wait(), "killed")
	left, err := s.Outbox(t.Context(), 1000)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(left), told)
	require.Less(t, len(left), len(ids))
	for _, id := range ids {
		is, err := s.Record(t.Context(), core.Result{ID: id, Generation: 1, State: core.RequestCompleted, Token: "1.1"})
		require.NoError(t, err)
		require.True(t, is)
	}
	left, err = s.Outbox(t.Context(), 1000)
	require.NoError(t, err)
	require.Equal(t, want, left)
}

// writeLease writes one lease again and again, each time with one more note.
func writeLease(t *testing.T, s *sqlite.Store) {
	t.Helper()
	l, revision := storetest.Lease("cs101"), int64(1)
	l.Notify = []string{"w"}
	for {
		next, err := s.PutLease(t.Context(), revision, l)
		require.NoError(t, err)
		fmt.Println("wrote " + l.ID)
		revision = next
		l.Log = append(l.Log[max(0, len(l.Log)-3):], core.LeaseNote{Number: l.LastNote() + 1, Event: core.EventLeaseUpdated})
	}
}

// After a crash the calendar, the leases in it and what is to be told of them are of one write.
func TestKilledAfterPutLease(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		path := filepath.Join(t.TempDir(), "drover.db")
		cmd, out := child(t, path, "", "lease")
		told := 0
		for lines := bufio.NewScanner(out); lines.Scan(); told++ {
			if told == 30*(round+1) {
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.ErrorContains(t, cmd.Wait(), "killed")
		s := open(t, path)
		c, err := s.Calendar(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, c.Leases, 1)
		writes := c.Leases[0].LastNote()
		require.GreaterOrEqual(t, writes, told)
		require.EqualValues(t, writes+1, c.Revision)
		left, err := s.Outbox(t.Context(), 10_000)
		require.NoError(t, err)
		require.Len(t, left, writes)
	}
}

// What is in the two files when Create returns is all that a power cut leaves.
func TestFilesHoldWhatWasAccepted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	s := open(t, path)
	for range 20 {
		spec := storetest.Spec("ann")
		_, _, err := s.Create(t.Context(), spec)
		require.NoError(t, err)
		left := filepath.Join(t.TempDir(), "drover.db")
		for _, suffix := range []string{"", "-wal"} {
			content, err := exec.CommandContext(t.Context(), "cat", path+suffix).Output() // closing a descriptor here would drop the store's locks
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(left+suffix, content, 0o600))
		}
		row, err := open(t, left).Get(t.Context(), spec.ID)
		require.NoError(t, err)
		require.Equal(t, spec, row.Spec)
	}
}

func TestManyProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	require.NoError(t, err)
	var ids []string
	for range 50 {
		spec := storetest.Spec("ann")
		_, _, err := s.Create(t.Context(), spec)
		require.NoError(t, err)
		ids = append(ids, spec.ID)
	}
	const processes = 4
	var mu sync.Mutex
	var all sync.WaitGroup
	accepted, answers := []string{}, 0
	for i := range processes {
		cmd, out := child(t, path, fmt.Sprintf("%d.1", i+1), strings.Join(ids, ","))
		all.Go(func() {
			for lines := bufio.NewScanner(out); lines.Scan(); {
				word, id, _ := strings.Cut(lines.Text(), " ")
				mu.Lock()
				switch word {
				case "accepted":
					accepted = append(accepted, id)
					fallthrough
				case "refused":
					answers++
				}
				mu.Unlock()
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("child %d: %v", i, err)
			}
		})
	}
	all.Wait()
	slices.Sort(accepted)
	require.Equal(t, ids, accepted, "each by exactly one")
	require.Equal(t, processes*len(ids), answers)
	for _, id := range ids {
		history, err := s.Attempts(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, history, processes)
	}
	require.NoError(t, s.Close())
}
