package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/school"
)

// classOf makes a class with one assignment and submissions of size bytes each.
func (h *testCluster) classOf(submissions, size int) {
	h.t.Helper()
	ctx, store := context.Background(), h.cluster.Store
	_, err := store.PutClass(ctx, school.Class{Handle: "cs", Title: "Computer Science"})
	require.NoError(h.t, err)
	_, err = store.PutAssignment(ctx, school.Assignment{Class: "cs", Handle: "hw1", Title: "First", Pool: "default", Priority: core.PriorityNormal})
	require.NoError(h.t, err)
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content) // always nil
	digest, _, err := h.cluster.Blobs.Put(ctx, bytes.NewReader(content), int64(size))
	require.NoError(h.t, err)
	for i := range submissions {
		user := fmt.Sprint("user", i)
		_, err := store.PutUser(ctx, school.User{Handle: user})
		require.NoError(h.t, err)
		require.NoError(h.t, store.Enrol(ctx, school.Enrolment{Class: "cs", User: user, Role: core.RoleStudent}))
		_, _, err = store.CreateSubmission(ctx, school.Submission{
			ID: strings.ToLower(ulid.Make().String()), Class: "cs", Assignment: "hw1", User: user, Kind: "public", At: 1,
			Files: []core.File{{Path: "a.bin", Digest: digest, Size: int64(size)}},
		}, nil)
		require.NoError(h.t, err)
	}
}

// blobFiles counts the files of the blob store, whatever they are.
func (h *testCluster) blobFiles() (n int) {
	h.t.Helper()
	dir := strings.TrimPrefix(h.cfg.Blobs.Reveal(), "file://")
	require.NoError(h.t, filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	}))
	return n
}

// A taskrunner is killed in the middle of an archive. Another one makes it whole:
// there is one download, and nothing is left of the first try.
func TestKilledInTheMiddleOfAnArchive(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	ctx := context.Background()
	const submissions, size = 40, 4 << 20
	h.classOf(submissions, size)
	first := h.registered("taskrunner")
	before := h.blobFiles()
	args, err := json.Marshal(school.ArchiveArgs{Class: "cs", Assignment: "hw1"})
	require.NoError(t, err)
	task, _, err := h.cluster.Intake.SubmitTask(ctx, core.Task{Kind: school.KindArchive, Args: args, Requester: "tea", About: "cs/hw1"})
	require.NoError(t, err)
	var at *core.TaskProgress
	await(t, "it is in the middle", func() bool {
		if places, err := h.cluster.Redis.LocateTasks(ctx, []string{task.Key()}); err == nil {
			at = places[0].Progress
		}
		return at != nil && at.Done > 0
	})
	first.kill()
	require.Less(t, at.Done, at.Total)
	require.Equal(t, before, h.blobFiles())

	second := h.start("taskrunner")
	await(t, "the archive is made", func() bool {
		task, err = h.cluster.Store.GetTask(ctx, task.ID)
		return err == nil && task.State.Terminal()
	})
	require.Equal(t, core.TaskDone, task.State, task.Note)
	require.Equal(t, "40 submissions of 40 users, 40 files", task.Note)
	require.Equal(t, &core.TaskProgress{Done: submissions, Total: submissions, Text: "user9"}, task.Progress)
	require.Equal(t, before+1, h.blobFiles(), "one download")
	r, err := h.cluster.Blobs.Open(ctx, task.Download.Digest)
	require.NoError(t, err)
	whole, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	require.NoError(t, err)
	require.Len(t, z.File, submissions+1, "and users.csv")
	second.stop()
	h.requireSound()
}
