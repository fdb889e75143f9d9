package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/classes"
	"drover/core/classes/experiment"
	"drover/core/coretest/tier"
	"drover/core/harness"
	"drover/core/requests/intake"
	"drover/core/school"
)

// multiplying makes a harness whose score is what a submission says, times a factor; of
// a submission that says so it is any number.
func (h *testCluster) multiplying(factor int) string {
	h.t.Helper()
	dir := filepath.Join(h.cfg.Data, fmt.Sprint("times", factor))
	require.NoError(h.t, os.MkdirAll(dir, 0o755))
	main := fmt.Sprintf(`#!/bin/sh
# It starts nothing that was submitted, so it needs no drover-run.
read -r said <"$DROVER_SUBMISSION/answer"
[ "$said" = flaky ] && said=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
sleep 0.2
printf '{"score":%%s,"max_score":10000000000,"tests":[]}\n' "$((said * %d))"
`, factor)
	require.NoError(h.t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte(main), 0o755))
	return dir
}

// submitTo submits an answer to cs/hw1 for a student.
func (h *testCluster) submitTo(user, answer string) school.Submission {
	h.t.Helper()
	s, err := h.cluster.Classes().Submit(context.Background(), access.Operator(), classes.NewSubmission{
		Class: "cs", Assignment: "hw1", User: user,
		Files: func(yield func(intake.Upload, error) bool) {
			yield(intake.Upload{Path: "answer", Content: strings.NewReader(answer + "\n")}, nil)
		},
	})
	require.NoError(h.t, err)
	return s
}

// homework makes cs/hw1, graded by the harness, and students.
func (h *testCluster) homework(dir string, students ...string) {
	h.t.Helper()
	ctx, reg, op := context.Background(), h.cluster.Classes(), access.Operator()
	_, err := reg.CreateClass(ctx, op, school.Class{Handle: "cs", Title: "CS"})
	require.NoError(h.t, err)
	_, err = reg.CreateAssignment(ctx, op, school.Assignment{Class: "cs", Handle: "hw1", Title: "First", Pool: "default"})
	require.NoError(h.t, err)
	pack, err := harness.Pack(dir)
	require.NoError(h.t, err)
	_, err = reg.SetHarness(ctx, op, "cs", "hw1", pack.Tar())
	require.NoError(h.t, err)
	for _, user := range students {
		_, err := reg.CreateUser(ctx, op, school.User{Handle: user})
		require.NoError(h.t, err)
		require.NoError(h.t, reg.Enrol(ctx, op, "cs", user, core.RoleStudent))
	}
}

// asJSON runs a command and reads what it prints.
func (h *testCluster) asJSON(into any, args ...string) {
	h.t.Helper()
	out, errs, code := h.run(append(args, "--json")...)
	require.Zero(h.t, code, errs)
	require.NoError(h.t, json.Unmarshal([]byte(out), into), out)
}

func (h *testCluster) waiting() (n int) {
	h.t.Helper()
	all, err := h.cluster.Redis.Waiting(context.Background())
	require.NoError(h.t, err)
	for _, q := range all {
		n += q.Waiting
	}
	return n
}

// rows are the requests of an experiment in any of the states.
func (h *testCluster) rows(id string, states ...core.RequestState) []core.Row {
	h.t.Helper()
	rows, err := h.cluster.Store.List(context.Background(), core.Filter{Assignment: school.ExperimentAssignment(id), States: states, Limit: 1000})
	require.NoError(h.t, err)
	return rows
}

func (h *testCluster) scores() map[string]float64 {
	h.t.Helper()
	all, err := h.cluster.Store.Standings(context.Background(), "cs", "hw1", "", 1000)
	require.NoError(h.t, err)
	scores := map[string]float64{}
	for _, s := range all {
		require.NotNil(h.t, s.Score, s.Submission.User)
		scores[s.Submission.User] = *s.Score
	}
	return scores
}

// claimed is when a request got its VM, in ms since 1970.
func claimed(row *core.Row) int64 { return row.Result.Times.Submitted + row.Result.Times.Claimed }

// An assignment gets another harness: its submissions are rerun as an experiment, thrice
// each, students go first meanwhile, and its results count once it is applied. Another
// one is aborted while 90 of its requests wait.
func TestAnAssignmentIsRerun(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	h := newTestCluster(t)
	h.pool()
	factory, runner, tasks, watch := h.start("vmfactory"), h.start("testrunner"), h.start("taskrunner"), h.start("overseer")
	var students []string
	for i := range 9 {
		students = append(students, fmt.Sprint("s", i))
	}
	h.homework(h.multiplying(1), append(students, "latecomer")...)
	h.submitTo(students[0], "flaky")
	for _, user := range students[1:] {
		h.submitTo(user, "7")
	}
	h.awaitLeft(0)
	was := h.scores()

	args := []string{"assignment", "rerun", "--harness", h.multiplying(2), "--repeat", "3"}
	for _, user := range students[:7] {
		args = append(args, "--user", user)
	}
	var e school.Experiment
	h.asJSON(&e, append(args, "cs/hw1")...)
	_, errs, code := h.run("assignment", "rerun", "cs/hw1")
	require.Equal(t, terminal.ExitRefused, code)
	require.Contains(t, errs, e.ID)
	await(t, "some have ended", func() bool { return len(h.rows(e.ID, core.RequestCompleted)) >= 3 })
	late := h.submitTo("latecomer", "1")
	var v classes.ExperimentView
	await(t, "it is ready", func() bool {
		h.asJSON(&v, "experiment", "show", e.ID)
		return v.State == school.ExperimentReady
	})
	row, err := h.cluster.Store.Get(context.Background(), late.Request)
	require.NoError(t, err)
	rest := 0
	for _, other := range h.rows(e.ID) {
		require.Equal(t, core.RequestCompleted, other.State, "%+v", other.Result)
		if claimed(&other) > claimed(&row) {
			rest++
		}
	}
	require.Greater(t, rest, 4, "claimed after the student's")
	require.Equal(t, 7, v.Summary.Submissions)
	require.Equal(t, 7, v.Summary.Differ)
	require.Equal(t, 1, v.Summary.Flaky)
	require.Equal(t, []experiment.Cell{{Old: harness.Partial, New: harness.Partial, Count: 7}}, v.Summary.Matrix)
	require.Len(t, v.Outcomes, 7)
	require.True(t, v.Outcomes[0].Flaky)
	out, _, code := h.run("experiment", "show", e.ID)
	require.Zero(t, code)
	require.Contains(t, out, "flaky: 1 of 7 (14.3 %)")
	require.Contains(t, out, "partial 7")
	require.Contains(t, out, "+7")
	scores := h.scores()
	delete(scores, "latecomer")
	require.Equal(t, was, scores, "nothing counts yet")

	out, errs, code = h.run("experiment", "apply", e.ID)
	require.Zero(t, code, errs)
	require.Contains(t, out, "the new results of 7 submissions count")
	scores = h.scores()
	for i, user := range students[1:] {
		require.InDelta(t, map[bool]float64{true: 14, false: 7}[i < 6], scores[user], 0, user)
	}
	h.submitTo("latecomer", "1")
	h.awaitLeft(0)
	require.InDelta(t, 2.0, h.scores()["latecomer"], 0, "the harness that was tried is the assignment's")

	runner.stop()
	h.asJSON(&e, "assignment", "rerun", "--repeat", "10", "cs/hw1")
	await(t, "all wait", func() bool { return h.waiting() >= 90 })
	_, errs, code = h.run("experiment", "abort", e.ID)
	require.Zero(t, code, errs)
	require.Zero(t, h.waiting())
	require.Empty(t, h.rows(e.ID, core.RequestQueued))
	task, err := h.cluster.Store.GetTask(context.Background(), e.ID)
	require.NoError(t, err)
	require.True(t, task.State.Terminal(), "cancelled, or done with nothing if it was just looking: %s", task.State)
	var all []school.Experiment
	h.asJSON(&all, "experiment", "list", "cs/hw1")
	require.Len(t, all, 2)
	require.Equal(t, school.ExperimentAborted, all[0].State)
	for _, p := range []*process{tasks, factory, watch} {
		p.stop()
	}
	h.requireSound()
	h.requireNothingLeft()
}
