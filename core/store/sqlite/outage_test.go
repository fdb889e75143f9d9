package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/service/clock"
	"drover/core/store/bounds"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// writes are the calls that must fail when nothing can be written.
var writes = []string{"Create", "Record", "Rerun", "PutPool", "PutJobType", "CreateBatch", "MoveBatch", "PutHostWish", "ForgetHostWishes", "PutJoinToken", "CreateTask", "EndTask", "Ping"}

// ledgerWrites are those of them that tasks and those who are told of ends need.
var ledgerWrites = []string{"FailTask", "PutWebhook", "Sent", "PutSchedule", "ExpireOutputs"}

// schoolWrites are those of them that coursework needs.
var schoolWrites = []string{
	"PutUser", "PutClass", "Enrol", "Drop", "PutAssignment", "PutDeadline", "CreateSubmission", "SetGrade", "PutExperiment", "AddAuditEntry",
}

// accountWrites are those of them that signing in needs.
var accountWrites = []string{"PutAccount", "AddToken", "RemoveToken", "TouchToken", "PurgeTokens", "AddIdentity", "RemoveIdentity"}

// pragma sets something on the writing connection.
func pragma(t *testing.T, s *Store, text string) {
	t.Helper()
	_, err := s.conn.ExecContext(t.Context(), "PRAGMA "+text)
	require.NoError(t, err)
}

// prepare makes a store in which every call of resultstoretest.Calls has something to do.
func prepare(t *testing.T) (*Store, core.Spec) {
	t.Helper()
	s, spec := openHere(t), storetest.Spec("ann")
	_, _, err := s.Create(t.Context(), spec)
	require.NoError(t, err)
	_, err = s.CreateTask(t.Context(), storetest.Task("t"))
	require.NoError(t, err)
	storetest.School(t, s)
	return s, spec
}

func TestReadonly(t *testing.T) {
	t.Parallel()
	s, spec := prepare(t)
	calls := storetest.Calls(spec)
	pragma(t, s, "query_only = 1")
	for name, call := range calls {
		err := call(t.Context(), s)
		if name == "Rerun" || name == "CreateTask" { // refused before anything is written
			continue
		}
		for _, w := range slices.Concat(writes, ledgerWrites, schoolWrites, accountWrites) {
			if w == name {
				require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%s: %v", name, err)
				require.ErrorContains(t, err, "check the rights")
			}
		}
	}
	for _, name := range []string{
		"Get", "List", "Unfinished", "Terminal", "Attempts", "Digests", "Pools", "JobTypes", "ListBatches", "OpenBatches", "HostWishes", "UnfinishedTasks", "GetTask", "ListTasks", "CountChildren",
		"Outbox", "ListWebhooks", "ListSchedules", "Members", "Standings", "ListAuditEntries",
		"GetAccount", "Tokens", "Identities",
	} {
		require.NoError(t, calls[name](t.Context(), s), "reading goes on: %s", name)
	}
	pragma(t, s, "query_only = 0")
	for _, name := range slices.Concat([]string{"Create", "Record", "Rerun", "PutPool", "PutJobType", "CreateBatch", "PutHostWish", "EndTask", "Ping"}, ledgerWrites, schoolWrites, accountWrites) {
		require.NoError(t, calls[name](t.Context(), s), "mended: %s", name)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	s, spec := prepare(t)
	pragma(t, s, "max_page_count = 1") // SQLite takes the current size
	result := storetest.Result(spec, "1.1")
	result.Stdout = strings.Repeat("x", 1<<20)
	for range 3 {
		_, err := s.Record(t.Context(), result)
		require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "free space")
	}
	row, err := s.Get(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, row, "nothing of it is there")
	require.NoError(t, s.Ping(t.Context()), "what needs no room still works")

	pragma(t, s, "max_page_count = 1000000")
	is, err := s.Record(t.Context(), result)
	require.NoError(t, err)
	require.True(t, is)
}

func TestLockedByAnotherProgram(t *testing.T) {
	t.Parallel()
	s, spec := prepare(t)
	other, err := Open(t.Context(), s.path, Options{})
	require.NoError(t, err)
	pragma(t, s, "busy_timeout = 1")
	_, err = other.conn.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	require.NoError(t, err)
	_, err = s.Record(t.Context(), storetest.Result(spec, "1.1"))
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "locked")
	_, err = other.conn.ExecContext(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	is, err := s.Record(t.Context(), storetest.Result(spec, "1.1"))
	require.NoError(t, err)
	require.True(t, is)
	require.NoError(t, other.Close())
}

func TestPingWrites(t *testing.T) {
	t.Parallel()
	hands := clock.NewManual(time.UnixMilli(5000))
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "drover.db"), Options{Clock: hands})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for range 2 {
		require.NoError(t, s.Ping(t.Context()))
		var at int64
		require.NoError(t, s.read.QueryRowContext(t.Context(), "SELECT at FROM pings").Scan(&at))
		require.Equal(t, hands.Now().UnixMilli(), at)
		hands.Advance(time.Second)
	}
}

func TestRefusedOutputIsCut(t *testing.T) {
	t.Parallel()
	s, spec := prepare(t)
	for _, token := range []string{"1.1", "2.1"} {
		r := storetest.Result(spec, token)
		r.Stdout, r.Stderr = strings.Repeat("x", 1<<20), strings.Repeat("y", 1<<20)
		_, err := s.Record(t.Context(), r)
		require.NoError(t, err)
	}
	var most int
	require.NoError(t, s.read.QueryRowContext(t.Context(), "SELECT max(length(stdout), length(stderr)) FROM attempts WHERE accepted = 0").Scan(&most))
	require.Equal(t, bounds.AttemptOutput, most)
}

func TestUnreadableRow(t *testing.T) {
	t.Parallel()
	s, spec := prepare(t)
	_, err := s.conn.ExecContext(context.Background(), "UPDATE requests SET spec = x'7b'") // behind the store's back
	require.NoError(t, err)
	_, err = s.Get(t.Context(), spec.ID)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	require.ErrorContains(t, err, "unreadable")
}

func TestGoesAndComesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drover.db")
	var now atomic.Pointer[Store]
	back := func() {
		s, err := Open(t.Context(), path, Options{})
		require.NoError(t, err)
		now.Store(s)
	}
	back()
	storetest.Killed(t, func() school.ResultStore { return now.Load() }, func() { require.NoError(t, now.Load().Close()) }, back)
	require.NoError(t, now.Load().Close())
}

func TestLockedForLong(t *testing.T) {
	t.Parallel()
	s := openHere(t)
	other, err := Open(t.Context(), s.path, Options{})
	require.NoError(t, err)
	say := func(text string) func() {
		return func() {
			_, err := other.conn.ExecContext(t.Context(), text)
			require.NoError(t, err)
		}
	}
	storetest.Silent(t, s, say("BEGIN IMMEDIATE"), say("ROLLBACK"), "Create", "Record", "PutPool", "EndTask", "PutUser", "Ping")
	require.NoError(t, other.Close())
}
