package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
)

func TestFilesOfARunAreKept(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h, up := newUpCluster(t)
	stdout, stderr, code := h.run("run", "--json", "--collect", "out", "--collect", "missing", "--", "sh", "-c",
		"mkdir -p out/sub; echo one > out/one; echo two > out/sub/two; chmod 755 out/one; ln -s /etc/passwd out/link; mkfifo out/pipe; exit 3")
	require.Equal(t, 3, code, stderr)
	var res core.Result
	require.NoError(t, json.Unmarshal([]byte(stdout), &res))
	require.Len(t, res.Files, 2)
	require.Len(t, res.LeftOut, 3)
	to := filepath.Join(t.TempDir(), "fetched")
	out, errs, code := h.run("request", "files", "--to", to, res.ID)
	require.Zero(t, code, errs)
	require.Contains(t, out, "out/sub/two")
	require.Contains(t, out, "out/link")
	require.Contains(t, out, "it is not a plain file")
	text, err := os.ReadFile(filepath.Join(to, "out", "sub", "two"))
	require.NoError(t, err)
	require.Equal(t, "two\n", string(text))
	info, err := os.Stat(filepath.Join(to, "out", "one"))
	require.NoError(t, err)
	require.EqualValues(t, 0o700, info.Mode().Perm())
	_, errs, code = h.run("request", "files", "--to", to, res.ID)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "not there yet")
	out, errs, code = h.run("request", "files", "--json", res.ID)
	require.Zero(t, code, errs)
	require.True(t, json.Valid([]byte(out)))

	_, errs, code = h.run("run", "--collect", "out", "--", "sh", "-c", "mkdir out; touch out/a; ln -s / out/root")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "kept 1 of its files: drover request files --to FOLDER ")
	require.Contains(t, errs, "out/root was not kept: it is not a plain file")
	up.stop()
	h.requireNothingLeft()
}

// sameFile opens the same for every file.
func sameFile(context.Context, core.File) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("abc")), nil
}

// Whatever a store says of paths, files are written beneath the folder that was named.
func TestFetchedFilesStayInTheirFolder(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../x", "/etc/x", "a/../../x", "", ".", "a//b"} {
		to := filepath.Join(t.TempDir(), "to")
		require.Error(t, request.Fetch(t.Context(), sameFile, []core.File{{Path: path, Digest: "d", Size: 3}}, to), path)
		require.NoFileExists(t, filepath.Join(filepath.Dir(to), "x"))
	}
	to := filepath.Join(t.TempDir(), "to")
	twice := []core.File{{Path: "a", Digest: "d", Size: 2, Mode: 0o4777}, {Path: "a", Digest: "d", Size: 3}}
	require.Error(t, request.Fetch(context.Background(), sameFile, twice, to), "nothing is written over")
	info, err := os.Stat(filepath.Join(to, "a"))
	require.NoError(t, err)
	require.EqualValues(t, 2, info.Size(), "and no more than was said")
	require.EqualValues(t, 0o755, info.Mode())
}

// What a pool does not keep any more is said to have been there; scores stay.
func TestOutputsExpire(t *testing.T) {
	t.Parallel()
	h := newStillCluster(t)
	ctx := context.Background()
	for _, bad := range []string{"-1h", "10s", "1000000h", "a week"} {
		_, errs, code := h.run("pool", "set", "--keep-outputs", bad, "default")
		require.Equal(t, terminal.ExitUsage, code, errs)
	}
	require.Contains(t, h.said("pool", "set", "default"), "is set")
	require.Regexp(t, `keep outputs +as long as their results`, h.said("pool", "show", "default"))
	h.said("pool", "set", "--keep-outputs", "168h", "default")
	require.Regexp(t, `keep outputs +168h0m0s`, h.said("pool", "show", "default"))
	kept, err := h.cluster.Store.Pools(ctx)
	require.NoError(t, err)
	require.Equal(t, 168*time.Hour, kept[0].KeepOutputs)

	id, points := h.submit(1, "true")[0], 3.0
	_, err = h.cluster.Store.Record(ctx, core.Result{
		ID: id, Generation: 1, State: core.RequestCompleted, Pool: "default", Stdout: "said", Score: &points, MaxScore: &points,
	})
	require.NoError(t, err)
	require.Equal(t, "said", h.said("request", "output", id))
	n, err := h.cluster.Store.ExpireOutputs(ctx, "default", time.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, args := range [][]string{
		{"request", "output", id},
		{"request", "output", "--json", id},
		{"request", "output", "--follow", id},
		{"request", "files", id},
		{"request", "files", "--json", id},
		{"request", "files", "--to", filepath.Join(t.TempDir(), "to"), id},
	} {
		out, errs, code := h.run(args...)
		require.Equal(t, terminal.ExitNotFound, code, "%v: %s", args, errs)
		require.Empty(t, out, args)
		require.Contains(t, errs, "were deleted on "+time.Now().Format("2006-"), args)
		require.Contains(t, errs, "drover pool show", args)
	}
	shown := h.said("request", "show", id)
	require.Regexp(t, `output and files +deleted`, shown)
	require.Regexp(t, `score +3 / 3`, shown)
	require.Contains(t, h.said("request", "show", "--json", id), "expired_ms")
}
