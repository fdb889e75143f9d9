package classes_test

import (
	"encoding/json"
	"io"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// args are arguments as rows have them.
func args(of any) json.RawMessage {
	raw, err := json.Marshal(of)
	if err != nil {
		panic(err) // they are structs of texts
	}
	return raw
}

func TestExports(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess, ann := w.as("tess"), w.as("ann")
	w.assignment("hw1")
	all := school.ArchiveArgs{Class: "cs101", Assignment: "hw1", Latest: true}
	task, err := w.reg.StartTask(ctx, tess, school.KindArchive, args(all))
	require.NoError(t, err)
	var got school.ArchiveArgs
	require.NoError(t, json.Unmarshal(task.Args, &got))
	assert.Equal(t, all, got)
	assert.Equal(t, []string{"tess", "cs101/hw1"}, []string{task.Requester, task.About})
	again, err := w.reg.StartTask(ctx, tess, school.KindArchive, args(all))
	require.NoError(t, err)
	assert.Equal(t, task.ID, again.ID, "one that waits is enough")
	again, err = w.reg.StartTask(ctx, tess, school.KindArchive, json.RawMessage(`{"user": "", "latest": true, "assignment": "hw1", "class": "cs101"}`))
	require.NoError(t, err)
	assert.Equal(t, task.ID, again.ID, "in whatever order its arguments are")
	other, err := w.reg.StartTask(ctx, w.as("tina"), school.KindArchive, args(all))
	require.NoError(t, err)
	assert.NotEqual(t, task.ID, other.ID, "a file is its requester's")

	own := school.ArchiveArgs{Class: "cs101", Assignment: "hw1", User: "ann"}
	require.NoError(t, done(w.reg.StartTask(ctx, ann, school.KindArchive, args(own))))
	own.User = "cleo"
	requireCode(t, core.CodeForbidden, done(w.reg.StartTask(ctx, ann, school.KindArchive, args(own))))
	requireCode(t, core.CodeInvalid, done(w.reg.StartTask(ctx, tess, school.KindGradebook, args(school.GradebookArgs{Class: "cs101", Fill: "a\nb"}))))
	require.NoError(t, done(w.reg.StartTask(ctx, tess, school.KindGradebook, args(school.GradebookArgs{Class: "cs101", Fill: "0"}))))
	require.NoError(t, done(w.reg.StartTask(ctx, tess, school.KindAssignmentCSV, args(school.AssignmentCSVArgs{Class: "cs101", Assignment: "hw1"}))))
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
