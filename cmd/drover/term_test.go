package main

import (
	"archive/zip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/cmd/drover/task"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/coretest/tier"
	"drover/core/school"
)

const (
	ledgerHarness = "../../examples/ledger/harness"
	partlyRight   = "../../examples/ledger/submissions/partly-right"
	allRight      = "../../examples/ledger/submissions/right"
)

// A term by the command line, on one cluster: as the guide says, then all of it.
func TestATermByTheCommandLine(t *testing.T) {
	tier.OnlyInAll(t, tier.Journey)
	t.Parallel()
	h := newTestCluster(t)
	up := h.up()
	h.here = true
	guideTerm(h)
	refusals(h)
	wholeTerm(h, t.TempDir())
	taskCommands(h)
	scheduleCommands(h)
	nothingStays(h)
	up.stop()
	h.requireNothingLeft()
}

// guideTerm types what docs/courses.md says, and gets the grades that it promises.
func guideTerm(h *testCluster) {
	h.t.Helper()
	commands := blockOf(h.t, `courses.md: drover user add --name "Tom Lee" --email tom@example.org tom`).text
	require.Equal(h.t, 10, strings.Count(commands, "\ndrover ")+1, "ten commands")
	guide, err := os.ReadFile("../../docs/courses.md")
	require.NoError(h.t, err)
	_, rest, _ := strings.Cut(string(guide), commands)
	_, rest, _ = strings.Cut(rest, "```\n\n")
	_, rest, _ = strings.Cut(rest, "```\n")
	promised, _, _ := strings.Cut(rest, "```")
	dir := h.desktop()
	out := h.typesBlock(dir, "", commands)
	grades, err := os.ReadFile(filepath.Join(dir, "grades.csv"))
	require.NoError(h.t, err)
	require.Equal(h.t, promised, string(grades))
	require.Contains(h.t, out, "1 of 3 students have submitted")
}

// refusals are what is typed wrongly, or by who may not.
func refusals(h *testCluster) {
	h.t.Helper()
	h.said("user", "add", "sly")
	h.said("class", "add", "--title", "Another", "cs102")
	h.said("class", "enrol", "--role", "teaching_assistant", "cs102", "sly")
	h.said("assignment", "add", "--hide-until", "+7d", "cs101/secret")
	h.said("user", "disable", "sly")
	h.refused(terminal.ExitRefused, "disabled", "class", "list", "--as", "sly")
	h.said("user", "enable", "sly")
	for _, test := range []struct {
		code int
		want string
		args string
	}{
		{terminal.ExitUsage, "not a valid name", "user add No!"},
		{terminal.ExitRefused, "a user ann already", "user add ann"},
		{terminal.ExitUsage, "--role", "user set --role student ann"},
		{terminal.ExitUsage, "--role", "user set --role king ann"},
		{terminal.ExitUsage, "reserved", "user add local-ann"},
		{terminal.ExitNotFound, "nobody", "user show nobody"},
		{terminal.ExitRefused, "in a class", "user remove bob"},
		{terminal.ExitUsage, "takes one argument", "user show"},
		{terminal.ExitUsage, "--limit", "user list --limit 0"},
		{terminal.ExitNotFound, "nobody", "class list --as nobody"},
		{terminal.ExitUsage, "not a valid name", "class list --as No!"},
		{terminal.ExitNotFound, "no class", "class show nowhere"},
		{terminal.ExitUsage, "could be more than one class", "class show cs"},
		{terminal.ExitUsage, "cs101, cs102", "class show cs"},
		{terminal.ExitUsage, "--role", "class enrol --role king cs101 ann"},
		{terminal.ExitNotFound, "nobody", "class enrol cs101 nobody"},
		{terminal.ExitNotFound, "sly", "class drop cs101 sly"},
		{terminal.ExitUsage, "which users", "class enrol cs101"},
		{terminal.ExitUsage, "cannot be read", "class import cs101 /no/such/file"},
		{terminal.ExitUsage, "not a plain file", "class import cs101 /tmp"},
		{terminal.ExitUsage, "no time", "assignment set --due tomorrow cs101/ledger"},
		{terminal.ExitUsage, "from now", "assignment set --due +7y cs101/ledger"},
		{terminal.ExitUsage, "--time-zone", "assignment set --due +7d --time-zone Mars/Here cs101/ledger"},
		{terminal.ExitUsage, "cutoff", "assignment set --cutoff +1h --due +2h cs101/ledger"},
		{terminal.ExitUsage, "priority", "assignment set --priority heavy cs101/ledger"},
		{terminal.ExitNotFound, "no pool", "assignment set --pool nowhere cs101/ledger"},
		{terminal.ExitUsage, "not a size", "assignment set --max-bytes much cs101/ledger"},
		{terminal.ExitUsage, "write CLASS/HANDLE", "assignment add hw1"},
		{terminal.ExitUsage, "class/assignment", "assignment show hw1"},
		{terminal.ExitNotFound, "no assignment", "assignment show cs101/nothing"},
		{terminal.ExitUsage, "harness folder", "assignment harness cs101/ledger /no/such/folder"},
		{terminal.ExitUsage, "whose dates", "assignment deadline --due +7d cs101/ledger"},
		{terminal.ExitNotFound, "enrol it first", "assignment deadline --due +7d --user sly cs101/ledger"},
		{terminal.ExitUsage, "reason", "assignment grade cs101/ledger ann 5"},
		{terminal.ExitUsage, "number of points", "assignment grade --reason x cs101/ledger ann NaN"},
		{terminal.ExitNotFound, "submitted nothing", "assignment grade --reason x cs101/ledger bob 5"},
		{terminal.ExitUsage, "what is to be submitted", "submit --to cs101/ledger"},
		{terminal.ExitUsage, "do not go together", "submit --to cs101/ledger --pool x main.py"},
		{terminal.ExitUsage, "cannot be read", "submit --as ann --to cs101/ledger /no/such/file"},
		{terminal.ExitUsage, "final", "submit --as ann --final --to cs101/ledger " + partlyRight},
		{terminal.ExitNotFound, "no submission", "submission show nothing"},
		{terminal.ExitNotFound, "no task", "task show nothing"},
		{terminal.ExitUsage, "--state", "task list --state asleep"},
		{terminal.ExitUsage, "--kind", "task list --kind nap"},
		{terminal.ExitUsage, "cannot make a task", "schedule set --at @daily --make delete_class x"},
		{terminal.ExitUsage, "cannot be read", "schedule set --at now --make purge x"},
		{terminal.ExitUsage, "--make", "schedule set --of cs101 x"},
		{terminal.ExitNotFound, "no schedule", "schedule run x"},
		{terminal.ExitRefused, "is there already", "grades export --to /etc/passwd cs101"},
		{terminal.ExitUsage, "cannot be written", "grades export --to /no/such/folder/x cs101"},

		{terminal.ExitRefused, "ann may not", "user list --as ann"},
		{terminal.ExitRefused, "ann may not", "user show --as ann bob"},
		{terminal.ExitRefused, "ann may not", "class members --as ann cs101"},
		{terminal.ExitRefused, "ann may not", "submission list --as ann --user bob cs101"},
		{terminal.ExitRefused, "ann may not", "assignment progress --as ann cs101/ledger"},
		{terminal.ExitRefused, "ann may not", "assignment grade --as ann --reason x cs101/ledger ann 12"},
		{terminal.ExitRefused, "ann may not", "assignment archive --as ann cs101/ledger"},
		{terminal.ExitRefused, "ann may not", "grades export --as ann cs101"},
		{terminal.ExitRefused, "ann may not", "schedule list --as ann"},
		{terminal.ExitRefused, "ann may not", "task queues --as ann"},
		{terminal.ExitRefused, "ann may not", "audit --as ann --class cs101"},
		{terminal.ExitNotFound, "no class", "class show --as ann cs102"},
		{terminal.ExitNotFound, "no assignment", "assignment show --as ann cs101/secret"},
		{terminal.ExitNotFound, "no assignment", "submit --as ann --to cs101/secret " + partlyRight},
		{terminal.ExitNotFound, "no class", "class members --as sly cs101"},
		{terminal.ExitNotFound, "no assignment", "assignment csv --as sly cs101/ledger"},
		{terminal.ExitNotFound, "no class", "audit --as sly --class cs101"},
		{terminal.ExitRefused, "tom may not", "user add --as tom eve"},
		{terminal.ExitRefused, "tom may not", "class remove --as tom cs101"},
	} {
		out, errs, code := h.types("", strings.Fields(test.args)...) // in this process: there are many of them
		assert.Equal(h.t, test.code, code, "%s: %s", test.args, errs)
		assert.Contains(h.t, errs, test.want, test.args)
		assert.LessOrEqual(h.t, strings.Count(errs, "\n"), 3, errs)
		assert.Empty(h.t, out, test.args)
	}
	out := h.said("assignment", "list", "--as", "ann")
	require.Contains(h.t, out, "cs101/ledger")
	require.NotContains(h.t, out, "secret")
	h.said("assignment", "remove", "cs101/secret")
}

// jsonOf runs a command with --json.
func jsonOf[T any](h *testCluster, args ...string) (v T) {
	h.t.Helper()
	out := h.said(append(args, "--json")...)
	require.NoError(h.t, json.Unmarshal([]byte(out), &v), "%v: %s", args, out)
	return v
}

// wholeTerm is the story of a class, with what goes wrong in one.
func wholeTerm(h *testCluster, dir string) {
	t := h.t
	h.said("user", "add", "--name", "Tess", "--email", "Tess@Example.org", "tess")
	h.said("class", "add", "--title", "Algorithms", "algo")
	h.said("class", "enrol", "--role", "teacher", "algo", "tess")
	roster := filepath.Join(dir, "roster.csv")
	require.NoError(t, os.WriteFile(roster, []byte("handle,name,email,role\ncleo,Cleo,cleo@example.org,\ndan,Dan,,\neve,Eve,,student\nNo Good,,,\ntim,,,teaching_assistant\n"), 0o600))
	out, errs, code := h.run("class", "import", "algo", roster, "--dry-run")
	require.Equal(t, terminal.ExitUsage, code)
	require.Contains(t, out, "4 of 5 lines are right: 4 to enrol (4 users to make)")
	require.Contains(t, errs, "line 5: ")
	require.Len(t, jsonOf[[]classes.Member](h, "class", "members", "algo"), 1, "a dry run does nothing")
	_, _, code = h.run("class", "import", "algo", roster)
	require.Equal(t, terminal.ExitUsage, code, "a wrong line is told by the exit code too")
	require.Len(t, jsonOf[[]classes.Member](h, "class", "members", "algo"), 5)

	out = h.said("assignment", "add", "--as", "tess", "--title", "Sorting", "--due", "2025-06-01 12:00", "--time-zone", "Europe/Berlin",
		"--cutoff", "+2d", "--final", "--timeout", "1m", "--harness", ledgerHarness, "algo/sort")
	require.Contains(t, out, "algo/sort is made")
	h.said("assignment", "add", "--as", "tess", "--cutoff", "2025-06-01T12:00:00Z", "algo/old")
	require.Contains(t, h.said("assignment", "show", "--time-zone", "Europe/Berlin", "algo/sort"), "2025-06-01 12:00 CEST")
	h.said("assignment", "deadline", "--as", "tim", "--user", "dan", "--due", "+1d", "--reason", "was ill", "algo/sort")
	require.Contains(t, h.said("assignment", "deadline", "algo/sort"), "was ill")
	require.Contains(t, h.said("assignment", "show", "--as", "dan", "mine/sorting"), "your own dates")

	out, errs, code = h.run("submit", "--as", "cleo", "--to", "mine/sort", partlyRight)
	require.Zero(t, code, errs)
	require.Contains(t, out, "8 of 12 points")
	require.Contains(t, errs, "it is late")
	_, errs, code = h.run("submit", "--as", "dan", "--final", "--to", "mine/sort", allRight)
	require.Zero(t, code, errs)
	require.NotContains(t, errs, "late")
	h.refused(terminal.ExitRefused, "cutoff", "submit", "--as", "cleo", "--to", "algo/old", allRight)
	require.Contains(t, h.said("submit", "--as", "tim", "--for", "cleo", "--to", "algo/old", allRight), "it is not graded")

	all := jsonOf[[]classes.SubmissionEntry](h, "submission", "list", "--as", "tim", "algo/sort")
	require.Len(t, all, 2)
	dans, cleos := all[0].Submission, all[1].Submission
	require.Equal(t, []any{"dan", "final", false, "cleo", "public", true}, []any{dans.User, dans.Kind, dans.Late, cleos.User, cleos.Kind, cleos.Late})
	require.Len(t, jsonOf[[]classes.SubmissionEntry](h, "submission", "list", "--as", "cleo"), 2, "only one's own")
	h.refused(terminal.ExitNotFound, "no submission", "submission", "show", "--as", "cleo", dans.ID)
	h.refused(terminal.ExitNotFound, "no submission", "submission", "files", "--as", "ann", cleos.ID)
	h.refused(terminal.ExitRefused, "submit it again", "submission", "resubmit", "--as", "cleo", cleos.ID)
	h.refused(terminal.ExitRefused, "ended", "submission", "cancel", "--as", "cleo", cleos.ID)
	require.Contains(t, h.said("submission", "resubmit", "--as", "tim", cleos.ID), "8 of 12 points")
	require.NotContains(t, h.said("submission", "show", "--as", "cleo", cleos.ID), " on h1;", "where it ran is not a student's")

	require.Contains(t, h.said("assignment", "progress", "--as", "tim", "algo/sort"), "2 of 3 students have submitted; 1 final, 1 late, 0 waiting for results")
	require.Contains(t, h.said("assignment", "grade", "--as", "tim", "--reason", "explained it well", "algo/sort", "cleo", "9.5"), "cleo has 9.5 / 12")
	p := jsonOf[classes.Progress](h, "assignment", "progress", "algo/sort")
	require.InEpsilon(t, 10.75, p.Distribution.Mean, 0.0001)
	require.Equal(t, 1, p.Distribution.Counts[7])
	exports(h, dir, cleos)

	out = h.said("audit", "--as", "tess", "--class", "algo")
	for _, want := range []string{"was ill", "explained it well", "submits for dan", "from 8/12 to 9.5/12 by tim", "asks for the gradebook", "tested again", "sets the harness"} {
		require.Contains(t, strings.Join(strings.Fields(out), " "), want)
	}
	entries := jsonOf[[]core.AuditEntry](h, "audit", "--actor", "tim", "--subject", "algo/sort/cleo")
	require.Len(t, entries, 2)
}

// exports fetches what tasks make of the class, by who may and by who may not.
func exports(h *testCluster, dir string, cleos school.Submission) {
	t := h.t
	file := filepath.Join(dir, "grades.csv")
	_, errs, code := h.run("grades", "export", "--as", "tess", "--to", file, "--fill", "0", "algo")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "drover: gradebook is ")
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "Username,old,sort\ncleo@example.org,0,9.5\ndan,0,12\neve,0,0\n", string(got))
	h.refused(terminal.ExitRefused, "is there already", "grades", "export", "--as", "tess", "--to", file, "algo")
	h.said("grades", "export", "--as", "tess", "--to", file, "--force", "--fill", "", "algo")
	got, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(got), "eve,,\n")

	scores := h.said("assignment", "csv", "--as", "tess", "--to", "-", "algo/sort")
	require.Contains(t, scores, "Username,Score,Submitted\ncleo@example.org,9.5,")
	id := strings.TrimSpace(h.said("assignment", "archive", "--as", "tess", "--no-wait", "algo/sort"))
	out := h.said("task", "show", "--as", "tess", "--follow", id)
	require.Contains(t, out, "2 of 2")
	h.refused(terminal.ExitRefused, "may not", "task", "fetch", id) // it is tess's own, not even for operators
	h.refused(terminal.ExitNotFound, "no task", "task", "fetch", "--as", "cleo", id)
	packed := filepath.Join(dir, "all.zip")
	h.said("task", "fetch", "--as", "tess", "--to", packed, id)
	z, err := zip.OpenReader(packed)
	require.NoError(t, err)
	require.Len(t, z.File, 3, "and users.csv")
	require.Equal(t, "cleo/"+time.UnixMilli(cleos.At).UTC().Format("2006-01-02-15-04-05")+"/ledger.sh", z.File[0].Name)
	in, err := z.File[0].Open()
	require.NoError(t, err)
	text, err := io.ReadAll(in)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	want, err := os.ReadFile(filepath.Join(partlyRight, "ledger.sh"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))

	own := filepath.Join(dir, "own.zip")
	h.said("assignment", "archive", "--as", "cleo", "--user", "cleo", "--to", own, "algo/sort")
	folder := filepath.Join(dir, "files")
	h.said("submission", "files", "--as", "cleo", "--to", folder, cleos.ID)
	text, err = os.ReadFile(filepath.Join(folder, "ledger.sh"))
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))
	left, err := filepath.Glob(filepath.Join(dir, ".drover-*"))
	require.NoError(t, err)
	require.Empty(t, left, "parts of files")
}

// taskCommands stops a task that waits for its time, and retries one that died.
func taskCommands(h *testCluster) {
	t, ctx := h.t, context.Background()
	args, err := json.Marshal(school.AssignmentCSVArgs{Class: "algo", Assignment: "gone"})
	require.NoError(t, err)
	later, _, err := h.cluster.Intake.SubmitTask(ctx, core.Task{
		Kind: school.KindAssignmentCSV, Args: args, Requester: "tess", About: "algo", NotBefore: time.Now().Add(time.Hour).UnixMilli(),
	})
	require.NoError(t, err)
	list := jsonOf[[]classes.TaskView](h, "task", "list", "--state", "delayed", "--class", "algo")
	require.Len(t, list, 1)
	require.Equal(t, later.ID, list[0].ID)
	h.refused(terminal.ExitNotFound, "no task", "task", "cancel", "--as", "cleo", later.ID)
	h.refused(terminal.ExitRefused, "tim may not", "task", "cancel", "--as", "tim", later.ID)
	require.Contains(t, h.said("task", "cancel", "--as", "tess", later.ID), "is cancelled")
	require.Contains(t, h.said("task", "show", "--as", "tim", later.ID), "cancelled by tess")

	dead, _, err := h.cluster.Intake.SubmitTask(ctx, core.Task{Kind: school.KindAssignmentCSV, Args: args, Requester: "tess", About: "algo"})
	require.NoError(t, err)
	h.refused(terminal.ExitFault, "is dead", "task", "show", "--follow", dead.ID)
	require.Contains(t, h.said("task", "retry", "--as", "tess", dead.ID), "generation 2")
	h.refused(terminal.ExitFault, "is dead", "task", "show", "--follow", dead.ID)
	h.refused(terminal.ExitNotFound, "made no file", "task", "fetch", "--as", "tess", dead.ID)
	require.Contains(t, h.said("task", "list", "--state", "dead", "--requester", "tess"), dead.ID)
	h.said("task", "queues")
}

func scheduleCommands(h *testCluster) {
	t := h.t
	await(t, "the overseer makes the purge's", func() bool { return strings.Contains(h.said("schedule", "list"), "17 3 * * *") })
	require.Contains(t, h.said("schedule", "set", "--at", "CRON_TZ=Europe/Berlin 0 6 * * 1", "--make", "gradebook", "--of", "alg", "weekly"), "is due next")
	require.Contains(t, h.said("schedule", "run", "weekly"), "is done: 3 rows")
	require.Contains(t, h.said("schedule", "set", "--paused", "weekly"), "paused")
	v := jsonOf[[]task.ScheduleView](h, "schedule", "list")
	require.Equal(t, []any{"purge", "weekly", true, "algo"}, []any{v[0].Name, v[1].Name, v[1].Paused, v[1].About})
	h.said("schedule", "remove", "weekly")
	require.Contains(t, h.said("schedule", "run", "purge"), "is done: deleted")
}

// nothingStays deletes all classes: what is left names no file but those of downloads.
func nothingStays(h *testCluster) {
	t, ctx := h.t, context.Background()
	require.Contains(t, h.said("assignment", "remove", "--as", "tess", "algo/sort"), "is deleted")
	h.refused(terminal.ExitNotFound, "no assignment", "assignment", "show", "algo/sort")
	for _, class := range []string{"algo", "cs101", "cs102"} {
		h.said("class", "remove", class)
	}
	require.Contains(t, h.said("class", "list"), "no classes")
	h.said("user", "remove", "cleo")
	rows, err := h.cluster.Store.List(ctx, core.Filter{})
	require.NoError(t, err)
	require.Empty(t, rows, "requests")
	named := map[string]bool{}
	require.NoError(t, h.cluster.Store.Digests(ctx, func(digest string) error { named[digest] = true; return nil }))
	tasks, err := h.cluster.Store.ListTasks(ctx, core.TaskFilter{Limit: 1000})
	require.NoError(t, err)
	made := map[string]bool{}
	for _, task := range tasks {
		if task.Download != nil {
			made[task.Download.Digest] = true
		}
	}
	require.Equal(t, made, named)
	keep := func(digest string) bool { return named[digest] }
	for _, days := range []int{2, 4} { // trashed, then gone
		_, err := h.cluster.Blobs.Purge(ctx, time.Now().AddDate(0, 0, days), time.Hour, keep)
		require.NoError(t, err)
	}
	require.NoError(t, h.cluster.Blobs.Each(ctx, func(digest string, _, _ int64) error {
		require.Contains(t, named, digest, "a file that nothing names")
		return nil
	}))
}
