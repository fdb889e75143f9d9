package classes_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reading are the methods that change nothing; all others leave an entry in the audit log.
var reading = []string{
	"ListUsers", "ViewUser", "ViewMember", "PreviewSubmission", "Report", "GradeHistory",
	"ViewClass", "FindClass", "Roster", "AuditEntries", "ViewAssignment", "Languages", "ViewHandout", "OpenHandout", "ZipSamples", "PoolChoices", "FindAssignment", "EditableAssignment", "ListAssignments",
	"Deadlines", "Gradebook", "Counts", "Progress", "Missing", "Standings", "Overview", "ViewSubmission", "WatchSubmission", "OpenFile", "OpenZip", "ViewTask", "TrackTask", "OpenDownload",
	"ViewWebhook", "ListWebhooks", "Deliveries", "Schedules", "Experiments", "ViewExperiment", "ExperimentProgress", "Stats", "StatsSeries",
	"Comments", "SeeComments", "OpenQuestions", "OpenFiles", "FindMembers", "LastImport",
	"ViewHarness", "OpenHarness", "StageHarness", "ViewStagedHarness", "DraftCases",
	"ImportRoster", // a dry run is what calls tries; import_test.go does it in earnest
}

// noAuditLog is a store whose audit log cannot be written.
type noAuditLog struct{ classes.Store }

func (noAuditLog) AddAuditEntry(context.Context, core.AuditEntry) error { return errBroken }

// Whatever changes something is in the audit log before it is done; what cannot be told
// there is not done, and what fails is told as that.
func TestAuditEntryBeforeChange(t *testing.T) {
	t.Parallel()
	for i, c := range calls() {
		t.Run(fmt.Sprintf("%s %d", c.method, i), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			id := ""
			if c.prepare != nil {
				id = c.prepare(w, 0)
			}
			actor := w.as("root")
			if c.action == core.ActTaskDownload || c.action == core.ActAsk {
				actor = w.as("ann")
			}
			w.log.clear()
			if slices.Contains(reading, c.method) {
				require.NoError(t, c.do(w, actor, id))
				assert.Empty(t, w.log.names, "%s reads", c.method)
				return
			}

			store := w.reg.Store
			w.reg.Store = noAuditLog{store}
			requireCode(t, core.CodeUnavailable, c.do(w, actor, id))
			require.Empty(t, w.log.names)

			w.reg.Store, w.log.fail = store, true
			requireCode(t, core.CodeUnavailable, c.do(w, actor, id))
			require.Len(t, w.log.entries, 2)
			assert.Equal(t, "failed: "+w.log.entries[0].Text+": the store is away", w.log.entries[1].Text)
			assert.Equal(t, "entry", w.log.names[0])
			assert.Equal(t, "entry", w.log.names[len(w.log.names)-1])
			assert.Less(t, w.log.entries[0].ID, w.log.entries[1].ID)

			w.log.fail = false
			w.log.clear()
			require.NoError(t, c.do(w, actor, id))
			require.GreaterOrEqual(t, len(w.log.names), 2)
			assert.Equal(t, "entry", w.log.names[0])
			assert.NotContains(t, w.log.names[1:], "entry")
			entry := w.log.entries[0]
			assert.Equal(t, actor.Handle, entry.Actor)
			assert.NotEmpty(t, entry.Text)
			assert.NotEmpty(t, entry.Subject)
			assert.NotContains(t, entry.Text, "failed")
		})
	}
}

// Who looks into the audit log learns what was before, what is now, and why.
func TestAuditEntriesSayWhat(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	ctx := t.Context()
	tess := w.as("tess")
	as := w.graded("hw1")
	w.submit("ann", "hw1")
	w.grade(nil)
	score := 9.0
	_, err := w.reg.ChangeGrade(ctx, tess, classes.GradeChange{Class: "cs101", Assignment: "hw1", User: "ann", Score: &score, Reason: "test 3\nwas wrong"})
	require.NoError(t, err)
	require.NoError(t, w.reg.SetDeadline(ctx, tess, school.Deadline{Class: "cs101", Assignment: "hw1", User: "ann", Cutoff: theEnd + day, Reason: "ill"}))
	as.Title = strings.Repeat("x", 200)
	as.HideUntil = theDue
	_, err = w.reg.EditAssignment(ctx, tess, as)
	require.NoError(t, err)
	require.NoError(t, w.reg.Enrol(ctx, tess, "cs101", "ann", core.RoleAssistant))

	all := strings.Join(w.entries(), "\n")
	for _, want := range []string{
		"tess sets the harness of cs101/hw1, of ",
		"ann submits for ann to cs101/hw1 (public)",
		"from 7/10 to 9/10 by tess, because: test 3 was wrong",
		"sets the deadlines of ann for cs101/hw1: due from 2023-11-15 22:13:20 UTC to 2023-11-15 22:13:20 UTC, cutoff from 2023-11-16 22:13:20 UTC to 2023-11-17 22:13:20 UTC, because: ill",
		`hidden until from "never" to "2023-11-15 22:13:20 UTC"`,
		"enrols ann as teaching_assistant, who was student",
	} {
		assert.Contains(t, all, want)
	}
}
