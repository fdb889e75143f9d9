package classes_test

import (
	"encoding/json"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// A schedule makes what its maker may ask for, for its maker, and nothing else.
func TestSchedulesMakeWhatTheirMakerMay(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	w.assignment("hw1")
	root, olga := w.as("root"), w.as("olga")
	nightly := core.Schedule{Name: "nightly", Kind: core.KindPurge, Cron: "@daily"}

	made, err := w.reg.SetSchedule(ctx, olga, nightly)
	require.NoError(t, err)
	require.Empty(t, made.Requester)
	require.GreaterOrEqual(t, made.Since, start)
	before := len(w.entries())
	again, err := w.reg.SetSchedule(ctx, olga, nightly)
	require.NoError(t, err)
	require.Equal(t, made, again)
	require.Len(t, w.entries(), before, "nothing was changed")
	w.pass(hour)
	nightly.Paused = true
	again, err = w.reg.SetSchedule(ctx, root, nightly)
	require.NoError(t, err)
	require.GreaterOrEqual(t, again.Since, start+hour, "what was due before is not made up for")

	grades, err := json.Marshal(school.GradebookArgs{Class: "cs101"})
	require.NoError(t, err)
	weekly := core.Schedule{Name: "weekly", Kind: school.KindGradebook, Cron: "0 6 * * 1", Args: grades, Requester: "ann", About: "another"}
	_, err = w.reg.SetSchedule(ctx, olga, weekly)
	requireCode(t, core.CodeNotFound, err)
	made, err = w.reg.SetSchedule(ctx, root, weekly)
	require.NoError(t, err)
	require.Equal(t, "root", made.Requester)
	require.Equal(t, "cs101", made.About)
	task, err := w.reg.RunSchedule(ctx, root, "weekly")
	require.NoError(t, err)
	require.Equal(t, "root", task.Requester)
	require.Equal(t, "cs101", task.About)
	_, err = w.reg.RunSchedule(ctx, root, "weekly")
	requireCode(t, core.CodeConflict, err)

	for name, bad := range map[string]core.Schedule{
		"kind":          {Name: "x", Kind: school.KindDeleteClass, Cron: "@daily", Args: json.RawMessage(`{"class":"cs101"}`)},
		"unknown kind":  {Name: "x", Kind: "nothing", Cron: "@daily"},
		"times":         {Name: "x", Kind: core.KindPurge, Cron: "@every 1s"},
		"no times":      {Name: "x", Kind: core.KindPurge},
		"name":          {Name: "No!", Kind: core.KindPurge, Cron: "@daily"},
		"argument":      {Name: "x", Kind: core.KindPurge, Cron: "@daily", Args: json.RawMessage(`{"keep":1}`)},
		"keeps nothing": {Name: "x", Kind: core.KindPurge, Cron: "@daily", Args: json.RawMessage(`{"keep_ns":0}`)},
		"no arguments":  {Name: "x", Kind: school.KindGradebook, Cron: "@daily"},
		"priority":      {Name: "x", Kind: core.KindPurge, Cron: "@daily", Priority: "lowest"},
	} {
		_, err := w.reg.SetSchedule(ctx, root, bad)
		require.True(t, core.Is(err, core.CodeInvalid), "%s: %v", name, err)
	}
}
