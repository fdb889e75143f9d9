package classes_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"drover/core"
	"drover/core/classes"
	"drover/core/cluster/history"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

// call is a call of the Service that stands for an action. It is made by
// everybody in turn, so prepare makes what one such call uses up.
type call struct {
	action  core.Action
	method  string
	do      func(w *fixture, a core.Actor, id string) error
	prepare func(w *fixture, n int) string // its answer is the id
	made    bool                           // creates something: an actor without the right gets FORBIDDEN, not NOTFOUND
}

// oneTest is the shortest cases.yaml.
const oneTest = "run: ./a.out\ntests: [{output: x}]\n"

func done[T any](_ T, err error) error { return err }

func asHomework(w *fixture, _ int) string { w.assignment("hw1"); return "hw1" }

// asExplained is hw1 with something for students in its harness.
func asExplained(w *fixture, _ int) string {
	w.assignment("hw1")
	w.explain("hw1", "attachments/a.txt", "hello", "samples/1.in", "1\n")
	return "hw1"
}

func submitted(w *fixture, n int) string {
	if n == 0 {
		w.graded("hw1")
	}
	s := w.submit("ann", "hw1")
	w.grade(func(r *core.Result) { r.State, r.Blame = core.RequestFailed, core.BlameHarness })
	return s.ID
}

func waiting(w *fixture, n int) string {
	if n == 0 {
		w.graded("hw1")
	}
	return w.submit("ann", "hw1").ID
}

func anotherUser(w *fixture, n int) string {
	handle := fmt.Sprintf("new-%d", n)
	_, err := w.reg.Store.PutUser(w.t.Context(), school.User{Handle: handle, Created: start})
	require.NoError(w.t, err)
	return handle
}

func member(role core.UserRole) func(w *fixture, n int) string {
	return func(w *fixture, n int) string {
		handle := anotherUser(w, n)
		require.NoError(w.t, w.reg.Store.Enrol(w.t.Context(), school.Enrolment{Class: "cs101", User: handle, Role: role, Since: start}))
		return handle
	}
}

// reopened undoes what a deletion began.
func reopened(w *fixture, n int) string {
	ctx := w.t.Context()
	c, err := w.reg.Store.GetClass(ctx, "cs101")
	require.NoError(w.t, err)
	if c.Deleting {
		c.Deleting = false
		require.NoError(w.t, done(w.reg.Store.PutClass(ctx, c)))
	}
	return fmt.Sprintf("hw%d", n)
}

func endedTask(state core.TaskState) func(w *fixture, n int) string {
	return func(w *fixture, _ int) string {
		task := w.task()
		if state != core.TaskQueued {
			w.endTask(task.ID, state)
		}
		return task.ID
	}
}

func scheduled(w *fixture, n int) string {
	name := fmt.Sprintf("s%d", n)
	_, err := w.reg.Store.PutSchedule(w.t.Context(), core.Schedule{Name: name, Kind: core.KindPurge, Cron: "@daily", Priority: core.PriorityLow})
	require.NoError(w.t, err)
	return name
}

func enrolling(action core.Action, role core.UserRole) []call {
	return []call{
		{action: action, method: "Enrol", prepare: anotherUser, do: func(w *fixture, a core.Actor, id string) error {
			return w.reg.Enrol(w.t.Context(), a, "cs101", id, role)
		}},
		{action: action, method: "SetSection", prepare: member(role), do: func(w *fixture, a core.Actor, id string) error {
			return w.reg.SetSection(w.t.Context(), a, "cs101", id, "B")
		}},
		{action: action, method: "Drop", prepare: member(role), do: func(w *fixture, a core.Actor, id string) error {
			return w.reg.Drop(w.t.Context(), a, "cs101", id)
		}},
	}
}

// calls are all calls of the Service that need a right.
func calls() []call {
	return slices.Concat(userCalls(), classCalls(), assignmentCalls(), submissionCalls(), commentCalls(), startCalls(), taskCalls(), webhookCalls(), experimentCalls(),
		enrolling(core.ActEnrolTeacher, core.RoleTeacher), enrolling(core.ActEnrolAssistant, core.RoleAssistant), enrolling(core.ActEnrolStudent, core.RoleStudent))
}

func userCalls() []call {
	return []call{
		{
			action: core.ActUserManage, method: "CreateUser", prepare: func(_ *fixture, n int) string { return fmt.Sprintf("new-%d", n) },
			do: func(w *fixture, a core.Actor, id string) error {
				return done(w.reg.CreateUser(w.t.Context(), a, school.User{Handle: id}))
			},
		},
		{action: core.ActUserManage, method: "EditUser", prepare: anotherUser, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.EditUser(w.t.Context(), a, school.User{Handle: id, Name: "New", Revision: 1}))
		}},
		{action: core.ActUserManage, method: "DeleteUser", prepare: anotherUser, do: func(w *fixture, a core.Actor, id string) error {
			return w.reg.DeleteUser(w.t.Context(), a, id)
		}},
		{action: core.ActUserManage, method: "ListUsers", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ListUsers(w.t.Context(), a, "", 10))
		}},
		{action: core.ActUserView, method: "ViewUser", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ViewUser(w.t.Context(), a, "ann"))
		}},
		{action: core.ActUserView, method: "ViewUser", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ViewUser(w.t.Context(), a, "ann@example.org"))
		}},
		{action: core.ActSchedule, method: "Schedules", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.Schedules(w.t.Context(), a))
		}},
		{action: core.ActSchedule, method: "SetSchedule", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.SetSchedule(w.t.Context(), a, core.Schedule{Name: "nightly", Kind: core.KindPurge, Cron: "@daily"}))
		}},
		{action: core.ActSchedule, method: "RemoveSchedule", prepare: scheduled, do: func(w *fixture, a core.Actor, name string) error {
			return w.reg.RemoveSchedule(w.t.Context(), a, name)
		}},
		{action: core.ActSchedule, method: "RunSchedule", prepare: scheduled, do: func(w *fixture, a core.Actor, name string) error {
			return done(w.reg.RunSchedule(w.t.Context(), a, name))
		}},
	}
}

// imported has imported a roster into cs101.
func imported(w *fixture, n int) string {
	handle := anotherUser(w, n)
	require.NoError(w.t, done(w.reg.ImportRoster(w.t.Context(), w.as("tess"), "cs101", strings.NewReader("handle\n"+handle), classes.ImportOptions{})))
	w.log.clear()
	return handle
}

func classCalls() []call {
	return []call{
		{action: core.ActEnrolStudent, method: "LastImport", prepare: imported, do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.LastImport(w.t.Context(), a, "cs101"))
		}},
		{action: core.ActEnrolStudent, method: "UndoImport", prepare: imported, do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.UndoImport(w.t.Context(), a, "cs101"))
		}},
		{action: core.ActRosterView, method: "FindMembers", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.FindMembers(w.t.Context(), a, "cs101", classes.RosterQuery{Text: "ann", Limit: 10}))
		}},
		{
			action: core.ActClassManage, method: "CreateClass", made: true, prepare: func(_ *fixture, n int) string { return fmt.Sprintf("new-%d", n) },
			do: func(w *fixture, a core.Actor, id string) error {
				return done(w.reg.CreateClass(w.t.Context(), a, school.Class{Handle: id, Title: "New"}))
			},
		},
		{action: core.ActClassManage, method: "DeleteClass", prepare: reopened, do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.DeleteClass(w.t.Context(), a, "cs101"))
		}},
		{action: core.ActClassEdit, method: "EditClass", do: func(w *fixture, a core.Actor, _ string) error {
			c, err := w.reg.Store.GetClass(w.t.Context(), "cs101")
			require.NoError(w.t, err)
			c.Title += "!"
			return done(w.reg.EditClass(w.t.Context(), a, c))
		}},
		{action: core.ActClassView, method: "ViewClass", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ViewClass(w.t.Context(), a, "cs101"))
		}},
		{action: core.ActClassView, method: "FindClass", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.FindClass(w.t.Context(), a, "s101"))
		}},
		{action: core.ActRosterView, method: "Roster", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.Roster(w.t.Context(), a, "cs101", "", 10))
		}},
		{action: core.ActRosterView, method: "ViewMember", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ViewMember(w.t.Context(), a, "cs101", "ann"))
		}},
		{action: core.ActEnrolStudent, method: "ImportRoster", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ImportRoster(w.t.Context(), a, "cs101", strings.NewReader("handle\nnick\n"), classes.ImportOptions{DryRun: true}))
		}},
		{action: core.ActAuditView, method: "AuditEntries", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.AuditEntries(w.t.Context(), a, core.AuditFilter{Class: "cs101"}))
		}},
	}
}

func once(prepare func(w *fixture, n int) string) func(w *fixture, n int) string {
	id := ""
	return func(w *fixture, n int) string {
		if n == 0 {
			id = prepare(w, n)
		}
		return id
	}
}

func newHomework(w *fixture, n int) string {
	handle := fmt.Sprintf("hw%d", n)
	w.assignment(handle)
	return handle
}

func newGraded(w *fixture, n int) string { return w.graded(fmt.Sprintf("hw%d", n)).Handle }

func assignmentCalls() []call {
	return []call{
		{action: core.ActAssignmentView, method: "Languages", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Languages(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActAssignmentView, method: "ViewHandout", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			_, _, err := w.reg.ViewHandout(w.t.Context(), a, "cs101", id)
			return err
		}},
		{action: core.ActAssignmentView, method: "OpenHandout", prepare: once(asExplained), do: func(w *fixture, a core.Actor, id string) error {
			_, _, err := w.reg.OpenHandout(w.t.Context(), a, "cs101", id, "attachments/a.txt")
			return err
		}},
		{action: core.ActAssignmentView, method: "ZipSamples", prepare: once(asExplained), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ZipSamples(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActAssignmentView, method: "ViewAssignment", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ViewAssignment(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActAssignmentView, method: "FindAssignment", prepare: once(asHomework), do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.FindAssignment(w.t.Context(), a, "cs1/HW"))
		}},
		{action: core.ActAssignmentView, method: "ListAssignments", do: func(w *fixture, a core.Actor, _ string) error {
			_, _, err := w.reg.ListAssignments(w.t.Context(), a, classes.AssignmentFilter{Class: "cs101"})
			return err
		}},
		{
			action: core.ActAssignmentPeek, method: "ViewAssignment", prepare: once(func(w *fixture, _ int) string { w.assignment("exam", concealed); return "exam" }),
			do: func(w *fixture, a core.Actor, id string) error {
				return done(w.reg.ViewAssignment(w.t.Context(), a, "cs101", id))
			},
		},
		{action: core.ActAssignmentEdit, method: "CreateAssignment", prepare: reopened, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.CreateAssignment(w.t.Context(), a, school.Assignment{Class: "cs101", Handle: id, Title: "New", Pool: pool}))
		}},
		{action: core.ActAssignmentEdit, method: "CreateGraded", prepare: reopened, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.CreateGraded(w.t.Context(), a, school.Assignment{Class: "cs101", Handle: id, Title: "New", Pool: pool}, bytes.NewReader(harnessTar(w.t))))
		}},
		{action: core.ActAssignmentEdit, method: "EditAssignment", prepare: newHomework, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.EditAssignment(w.t.Context(), a, school.Assignment{Class: "cs101", Handle: id, Title: "Other", Revision: 1}))
		}},
		{action: core.ActAssignmentEdit, method: "EditableAssignment", prepare: newHomework, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.EditableAssignment(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActAssignmentEdit, method: "DeleteAssignment", prepare: newHomework, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.DeleteAssignment(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActAssignmentEdit, method: "PoolChoices", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.PoolChoices(w.t.Context(), a, "cs101"))
		}},
		{action: core.ActAssignmentEdit, method: "SetHarness", prepare: newHomework, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.SetHarness(w.t.Context(), a, "cs101", id, bytes.NewReader(harnessTar(w.t))))
		}},
		{action: core.ActAssignmentEdit, method: "ViewHarness", prepare: newGraded, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ViewHarness(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActAssignmentEdit, method: "OpenHarness", prepare: newGraded, do: func(w *fixture, a core.Actor, id string) error {
			_, _, err := w.reg.OpenHarness(w.t.Context(), a, "cs101", id, "")
			return err
		}},
		{action: core.ActAssignmentEdit, method: "StageHarness", prepare: newHomework, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.StageHarness(w.t.Context(), a, "cs101", id, bytes.NewReader(harnessTar(w.t))))
		}},
		{action: core.ActAssignmentEdit, method: "ViewStagedHarness", prepare: newGraded, do: func(w *fixture, a core.Actor, id string) error {
			as, err := w.reg.Store.GetAssignment(w.t.Context(), "cs101", id)
			require.NoError(w.t, err)
			return done(w.reg.ViewStagedHarness(w.t.Context(), a, "cs101", id, as.Harness.File.Digest))
		}},
		{action: core.ActAssignmentEdit, method: "DraftCases", prepare: newHomework, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.DraftCases(w.t.Context(), a, "cs101", id, classes.CasesEdit{Text: oneTest}))
		}},
		{action: core.ActAssignmentEdit, method: "SaveCases", prepare: newHomework, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.SaveCases(w.t.Context(), a, "cs101", id, classes.CasesEdit{Text: oneTest}))
		}},
		{action: core.ActAssignmentEdit, method: "RemoveHarness", prepare: newGraded, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.RemoveHarness(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActDeadlineEdit, method: "SetDeadline", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return w.reg.SetDeadline(w.t.Context(), a, school.Deadline{Class: "cs101", Assignment: id, User: "cleo", Due: theDue + hour})
		}},
		{action: core.ActDeadlineEdit, method: "Deadlines", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.Deadlines(w.t.Context(), a, "cs101", "", ""))
		}},
		{action: core.ActGradeView, method: "Stats", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.Stats(w.t.Context(), a, "cs101", history.ByAssignment, time.UnixMilli(start), time.UnixMilli(start+1)))
		}},
		{action: core.ActGradeView, method: "StatsSeries", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.StatsSeries(w.t.Context(), a, "cs101", time.UnixMilli(start), time.UnixMilli(start+1)))
		}},
		{action: core.ActGradeView, method: "Gradebook", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.Gradebook(w.t.Context(), a, "cs101", classes.BookFilter{Limit: 10}))
		}},
		{action: core.ActAssignmentView, method: "Counts", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Counts(w.t.Context(), a, "cs101", id, a.Handle))
		}},
		{action: core.ActGradeView, method: "Progress", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Progress(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActGradeView, method: "Overview", do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.Overview(w.t.Context(), a, "cs101"))
		}},
		{action: core.ActGradeView, method: "Standings", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Standings(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActGradeView, method: "Missing", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Missing(w.t.Context(), a, "cs101", id, "", 10))
		}},
		{action: core.ActGradeView, method: "Report", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Report(w.t.Context(), a, "cs101", id))
		}},
		{action: core.ActGradeView, method: "GradeHistory", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.GradeHistory(w.t.Context(), a, "cs101", id, "ann"))
		}},
	}
}

func submissionCalls() []call {
	for1 := func(user string) func(w *fixture, a core.Actor, id string) error {
		return func(w *fixture, a core.Actor, id string) error {
			h := newSubmission(id)
			h.User = user
			return done(w.reg.Submit(w.t.Context(), a, h))
		}
	}
	return []call{
		{action: core.ActSubmit, method: "Submit", prepare: once(asHomework), do: for1("ann")},
		{action: core.ActSubmitFor, method: "Submit", do: for1("sam"), prepare: once(func(w *fixture, n int) string {
			require.NoError(w.t, done(w.reg.Store.PutUser(w.t.Context(), school.User{Handle: "sam", Created: start})))
			require.NoError(w.t, w.reg.Store.Enrol(w.t.Context(), school.Enrolment{Class: "cs101", User: "sam", Role: core.RoleStudent, Since: start}))
			return asHomework(w, n)
		})},
		{action: core.ActSubmissionView, method: "ViewSubmission", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ViewSubmission(w.t.Context(), a, id))
		}},
		{action: core.ActSubmissionView, method: "PreviewSubmission", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.PreviewSubmission(w.t.Context(), a, id))
		}},
		{action: core.ActSubmissionView, method: "WatchSubmission", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			_, _, err := w.reg.WatchSubmission(w.t.Context(), a, id)
			return err
		}},
		{action: core.ActSubmissionView, method: "OpenFile", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			_, content, err := w.reg.OpenFile(w.t.Context(), a, id, "main.py")
			return closed(content, err)
		}},
		{action: core.ActSubmissionView, method: "OpenFiles", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.OpenFiles(w.t.Context(), a, id))
		}},
		{action: core.ActSubmissionView, method: "OpenZip", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.OpenZip(w.t.Context(), a, id))
		}},
		{action: core.ActSubmissionRerun, method: "Resubmit", prepare: submitted, do: func(w *fixture, a core.Actor, id string) error {
			return w.reg.Resubmit(w.t.Context(), a, id)
		}},
		{action: core.ActSubmissionRerun, method: "CancelSubmission", prepare: waiting, do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.CancelSubmission(w.t.Context(), a, id))
		}},
		{action: core.ActGradeChange, method: "ChangeGrade", prepare: once(submitted), do: func(w *fixture, a core.Actor, _ string) error {
			score := 3.0
			return done(w.reg.ChangeGrade(w.t.Context(), a, classes.GradeChange{Class: "cs101", Assignment: "hw1", User: "ann", Score: &score, Reason: "late"}))
		}},
	}
}

func commentCalls() []call {
	commented := func(kind school.CommentKind) func(w *fixture, n int) string {
		return func(w *fixture, n int) string {
			c := school.Comment{ID: fmt.Sprintf("c%d", n), Submission: submitted(w, n), Class: "cs101", Assignment: "hw1", User: "ann", Kind: kind, By: "tess", Text: "x", At: 5, Released: 5}
			require.NoError(w.t, w.reg.Store.AddComment(w.t.Context(), c))
			return c.ID
		}
	}
	edit := func(w *fixture, a core.Actor, id string) error { return w.reg.EditComment(w.t.Context(), a, id, "y") }
	remove := func(w *fixture, a core.Actor, id string) error { return w.reg.DeleteComment(w.t.Context(), a, id) }
	return []call{
		{action: core.ActSubmissionView, method: "Comments", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Comments(w.t.Context(), a, id))
		}},
		{action: core.ActSubmissionView, method: "SeeComments", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return w.reg.SeeComments(w.t.Context(), a, id)
		}},
		{action: core.ActComment, method: "AddComment", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.AddComment(w.t.Context(), a, id, classes.NewComment{Text: "x", File: "main.py", Line: 1}))
		}},
		{action: core.ActComment, method: "Answer", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Answer(w.t.Context(), a, id, "x", ""))
		}},
		{action: core.ActAsk, method: "Ask", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.Ask(w.t.Context(), a, id, "x", ""))
		}},
		{action: core.ActComment, method: "EditComment", prepare: commented(school.CommentNote), do: edit},
		{action: core.ActAsk, method: "EditComment", prepare: commented(school.CommentQuestion), do: edit},
		{action: core.ActComment, method: "DeleteComment", prepare: commented(school.CommentNote), do: remove},
		{action: core.ActAsk, method: "DeleteComment", prepare: commented(school.CommentQuestion), do: remove},
		{action: core.ActComment, method: "ReleaseComments", prepare: once(submitted), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ReleaseComments(w.t.Context(), a, id))
		}},
		{action: core.ActGradeChange, method: "ReleaseAllComments", prepare: once(submitted), do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.ReleaseAllComments(w.t.Context(), a, "cs101", "hw1"))
		}},
		{action: core.ActGradeView, method: "OpenQuestions", prepare: once(submitted), do: func(w *fixture, a core.Actor, _ string) error {
			return done(w.reg.OpenQuestions(w.t.Context(), a, "cs101", "hw1", 10))
		}},
	}
}

// startCalls ask for a task of each kind that can be asked for.
func startCalls() (all []call) {
	for _, k := range school.Requestable() {
		all = append(all, call{action: k.Right, method: "StartTask", prepare: once(asHomework), do: func(w *fixture, a core.Actor, id string) error {
			raw, err := k.Write(map[string]string{"class": "cs101", "assignment": id})
			require.NoError(w.t, err)
			return done(w.reg.StartTask(w.t.Context(), a, k.Name, raw))
		}})
	}
	return all
}

func taskCalls() []call {
	return []call{
		{action: core.ActTaskView, method: "TrackTask", prepare: once(endedTask(core.TaskQueued)), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.TrackTask(w.t.Context(), a, id))
		}},
		{action: core.ActTaskView, method: "ViewTask", prepare: once(endedTask(core.TaskQueued)), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.ViewTask(w.t.Context(), a, id))
		}},
		{action: core.ActTaskControl, method: "CancelTask", prepare: endedTask(core.TaskQueued), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.CancelTask(w.t.Context(), a, id))
		}},
		{action: core.ActTaskControl, method: "RetryTask", prepare: endedTask(core.TaskDead), do: func(w *fixture, a core.Actor, id string) error {
			return done(w.reg.RetryTask(w.t.Context(), a, id))
		}},
		{action: core.ActTaskDownload, method: "OpenDownload", prepare: once(endedTask(core.TaskDone)), do: func(w *fixture, a core.Actor, id string) error {
			_, content, err := w.reg.OpenDownload(w.t.Context(), a, id)
			return closed(content, err)
		}},
	}
}

func closed(content io.Closer, err error) error {
	if err != nil {
		return err
	}
	return content.Close()
}
