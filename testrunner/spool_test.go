package testrunner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
)

func spoolOf(t *testing.T, files int, bytes int64) *spool {
	t.Helper()
	s, err := openSpool(filepath.Join(t.TempDir(), "spool"), files, bytes)
	require.NoError(t, err)
	return s
}

func resultOf(id string) core.Result {
	return core.Result{ID: id, Generation: 1, State: core.RequestCompleted, Token: "7.1", Stdout: "out", Tests: []core.Test{
		{Name: "a", Parts: []core.Part{{Name: "p", Score: 1, MaxScore: 2}}},
	}}
}

func contents(t *testing.T, s *spool) []core.Result {
	t.Helper()
	var all []core.Result
	require.NoError(t, s.each(t.Context(), func(r core.Result) error { all = append(all, r); return nil }))
	return all
}

func TestSpool(t *testing.T) {
	t.Parallel()
	s := spoolOf(t, 10, 1<<20)
	a, b := resultOf("a"), resultOf("b")
	for range 2 { // twice is once
		require.NoError(t, s.put(b))
		require.NoError(t, s.put(a))
	}
	assert.Equal(t, []core.Result{a, b}, contents(t, s))
	require.NoError(t, s.remove(&a))
	require.NoError(t, s.remove(&a))
	assert.Equal(t, []core.Result{b}, contents(t, s))
	info, err := os.Stat(filepath.Join(s.dir, "b-1@7.1.json"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	s := spoolOf(t, 2, 1<<20)
	require.NoError(t, s.put(resultOf("a")))
	require.NoError(t, s.put(resultOf("b")))
	assert.Equal(t, core.CodeLimit, core.CodeOf(s.put(resultOf("c"))))
	s = spoolOf(t, 10, 300)
	assert.Equal(t, core.CodeLimit, core.CodeOf(s.put(resultOf("a"))))
	assert.Empty(t, contents(t, s))
}

// What was quarantined, and what a killed runner left half written, takes no room of results.
func TestSpoolsLeftoversTakeNoRoom(t *testing.T) {
	t.Parallel()
	s := spoolOf(t, 2, 1<<20)
	for i := range 3 * mostQuarantined / 2 {
		require.NoError(t, s.put(resultOf(fmt.Sprintf("r%03d", i))))
		require.NoError(t, s.each(t.Context(), func(core.Result) error { return core.Errorf(core.CodeInvalid, "", "bad") }))
	}
	quarantined, err := filepath.Glob(filepath.Join(s.dir, "*"+spoolQuarantine))
	require.NoError(t, err)
	require.Len(t, quarantined, mostQuarantined, "nor without bound")
	require.NoError(t, s.put(resultOf("a")))
	require.NoError(t, s.put(resultOf("b")))
	assert.Equal(t, core.CodeLimit, core.CodeOf(s.put(resultOf("c"))))

	old, young := filepath.Join(s.dir, "x-1@1.1.json.new"), filepath.Join(s.dir, "y-1@1.1.json.new")
	require.NoError(t, os.WriteFile(old, []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(young, []byte("{"), 0o600))
	past := time.Now().Add(-2 * halfWritten)
	require.NoError(t, os.Chtimes(old, past, past))
	_, err = openSpool(s.dir, 2, 1<<20)
	require.NoError(t, err)
	require.NoFileExists(t, old)
	require.FileExists(t, young, "another runner may be writing it")
}

func TestSpoolRefusesForeignNames(t *testing.T) {
	t.Parallel()
	s := spoolOf(t, 10, 1<<20)
	bad := resultOf("../../etc/passwd")
	assert.Equal(t, core.CodeInvalid, core.CodeOf(s.put(bad)))
	assert.Equal(t, core.CodeInvalid, core.CodeOf(s.remove(&bad)))
	bad = resultOf("a")
	bad.Token = "/"
	assert.Equal(t, core.CodeInvalid, core.CodeOf(s.put(bad)))
}

func TestSpoolWalkEndsWithTheStore(t *testing.T) {
	t.Parallel()
	s := spoolOf(t, 10, 1<<20)
	require.NoError(t, s.put(resultOf("a")))
	require.NoError(t, s.put(resultOf("b")))
	down, calls := errors.New("no store"), 0
	require.ErrorIs(t, s.each(t.Context(), func(core.Result) error { calls++; return down }), down)
	assert.Equal(t, 1, calls)
	assert.Len(t, contents(t, s), 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.each(ctx, func(core.Result) error { return nil }), context.Canceled)
}

func TestSpoolNeedsAFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := openSpool(filepath.Join(file, "spool"), 1, 1)
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	s := spoolOf(t, 1, 1<<20)
	require.NoError(t, os.RemoveAll(s.dir))
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(s.put(resultOf("a"))))
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(s.each(t.Context(), func(core.Result) error { return nil })))
}
