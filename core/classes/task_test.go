package classes_test

import (
	"encoding/json"
	"io"
	"testing"

	"drover/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExports(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess, ann := w.as("tess"), w.as("ann")
	w.assignment("hw1")
	all := core.ArchiveArgs{Class: "cs101", Assignment: "hw1", Latest: true}
	task, err := w.reg.StartArchive(ctx, tess, all)
	require.NoError(t, err)
	var args core.ArchiveArgs
	require.NoError(t, json.Unmarshal(task.Args, &args))
	assert.Equal(t, all, args)
	assert.Equal(t, []string{"tess", "cs101/hw1"}, []string{task.Requester, task.About})
	again, err := w.reg.StartArchive(ctx, tess, all)
	require.NoError(t, err)
	assert.Equal(t, task.ID, again.ID, "one that waits is enough")
	other, err := w.reg.StartArchive(ctx, w.as("tina"), all)
	require.NoError(t, err)
	assert.NotEqual(t, task.ID, other.ID, "a file is its requester's")

	own := core.ArchiveArgs{Class: "cs101", Assignment: "hw1", User: "ann"}
	require.NoError(t, done(w.reg.StartArchive(ctx, ann, own)))
	own.User = "cleo"
	requireCode(t, core.CodeForbidden, done(w.reg.StartArchive(ctx, ann, own)))
	requireCode(t, core.CodeInvalid, done(w.reg.StartGradebook(ctx, tess, core.GradebookArgs{Class: "cs101", Fill: "a\nb"})))
	require.NoError(t, done(w.reg.StartGradebook(ctx, tess, core.GradebookArgs{Class: "cs101", Fill: "0"})))
	require.NoError(t, done(w.reg.StartAssignmentCSV(ctx, tess, core.AssignmentCSVArgs{Class: "cs101", Assignment: "hw1"})))
}

func TestDownloadOfTask(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	all := func(t *core.Task) {
		t.Requester, t.Args = "tina", []byte(`{"class":"cs101","assignment":"hw1"}`)
	}
	task := w.task(all)
	open := func(handle string) error {
		_, content, err := w.reg.OpenDownload(ctx, w.as(handle), task.ID)
		return closed(content, err)
	}
	requireCode(t, core.CodeConflict, open("tina"))
	w.endTask(task.ID, core.TaskDone)
	d, content, err := w.reg.OpenDownload(ctx, w.as("tina"), task.ID)
	require.NoError(t, err)
	raw, err := io.ReadAll(content)
	require.NoError(t, err)
	require.NoError(t, content.Close())
	assert.Equal(t, []string{"a zip", "a.zip"}, []string{string(raw), d.Name})
	requireCode(t, core.CodeForbidden, open("tess"))
	requireCode(t, core.CodeForbidden, open("root"))
	requireCode(t, core.CodeNotFound, open("ann"))

	// Who assists no more gets nothing of what only staff may see, nor anew.
	require.NoError(t, w.reg.Enrol(ctx, w.as("tess"), "cs101", "tina", core.RoleStudent))
	requireCode(t, core.CodeForbidden, open("tina"))
	dead := w.task(all)
	w.endTask(dead.ID, core.TaskDead)
	requireCode(t, core.CodeForbidden, done(w.reg.RetryTask(ctx, w.as("tina"), dead.ID)))
	require.NoError(t, w.reg.Enrol(ctx, w.as("tess"), "cs101", "tina", core.RoleAssistant))
	require.NoError(t, open("tina"))
	require.NoError(t, done(w.reg.RetryTask(ctx, w.as("tina"), dead.ID)))

	w.pass(hour)
	requireCode(t, core.CodeEnded, open("tina"))
	failed := w.task(all)
	w.endTask(failed.ID, core.TaskDead)
	_, _, err = w.reg.OpenDownload(ctx, w.as("tina"), failed.ID)
	requireCode(t, core.CodeNotFound, err)
}
