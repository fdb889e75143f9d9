package taskrunner_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/classes/experiment"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/taskrunner"
)

// trial is a class with submissions that were graded, its classes service, a taskrunner's
// kinds to be tried one try at a time, and who plays the testrunner.
type trial struct {
	*redisRig
	cluster *coretest.Cluster
	reg     *classes.Service
	tess    core.Actor
	work    taskrunner.Requests // what the kinds see
	past    school.ResultStore
	now     func() time.Time

	submitter taskrunner.TaskSubmitter
	hw        string // the assignment's handle
	seq       int64
}

func newTrial(t *testing.T, b *coretest.Backend, students int) *trial {
	t.Helper()
	ctx := context.Background()
	r := newRedisRig(t, b)
	r.in.Blobs = r.blobs
	x := &trial{redisRig: r, cluster: coretest.NewCluster(t, r.redis, "h1", "default"), tess: core.Actor{Handle: "tess", Roles: []core.UserRole{core.RoleAdmin}}}
	x.reg = &classes.Service{Store: r.store, Intake: r.in, Blobs: r.blobs}
	x.work, x.past, x.submitter, x.now = r.in, r.store, r.in, time.Now
	pool := core.DefaultPool("default")
	pool.Max = 1000
	require.NoError(t, r.in.SetPool(ctx, pool))
	_, err := x.reg.CreateClass(ctx, x.tess, school.Class{Handle: "cs", Title: "CS"})
	require.NoError(t, err)
	for i := range students {
		_, err := x.reg.CreateUser(ctx, x.tess, school.User{Handle: student(i)})
		require.NoError(t, err)
		require.NoError(t, x.reg.Enrol(ctx, x.tess, "cs", student(i), core.RoleStudent))
	}
	x.homework("hw1", students)
	return x
}

// homework makes the assignment that is rerun from here on, with graded submissions.
func (x *trial) homework(handle string, students int) {
	x.t.Helper()
	ctx := context.Background()
	x.hw = handle
	_, err := x.reg.CreateAssignment(ctx, x.tess, school.Assignment{Class: "cs", Handle: handle, Title: "First", Pool: "default"})
	require.NoError(x.t, err)
	_, err = x.reg.SetHarness(ctx, x.tess, "cs", handle, bytes.NewReader(x.tar("old")))
	require.NoError(x.t, err)
	for i := range students {
		x.submit(student(i))
	}
	x.grade(-1, five)
}

func five(core.Spec) (float64, string) { return 5, "" }

func student(i int) string { return fmt.Sprintf("s%03d", i) }

// tar is a harness that says something of its own.
func (x *trial) tar(what string) []byte {
	x.t.Helper()
	dir := x.t.TempDir()
	require.NoError(x.t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n# "+what+"\n"), 0o755))
	p, err := harness.Pack(dir)
	require.NoError(x.t, err)
	tar, err := io.ReadAll(p.Tar())
	require.NoError(x.t, err)
	return tar
}

func (x *trial) submit(user string) school.Submission {
	x.t.Helper()
	s, err := x.reg.Submit(context.Background(), x.tess, classes.NewSubmission{Class: "cs", Assignment: x.hw, User: user, Files: oneFile(user)})
	require.NoError(x.t, err)
	return s
}

func oneFile(text string) iter.Seq2[intake.Upload, error] {
	return func(yield func(intake.Upload, error) bool) {
		yield(intake.Upload{Path: "a.py", Content: strings.NewReader(text)}, nil)
	}
}

// grade ends so many waiting requests, all with -1, as a testrunner does, and returns
// their submitters in the order in which they were claimed.
func (x *trial) grade(most int, judge func(spec core.Spec) (score float64, broken string)) []string {
	x.t.Helper()
	ctx := context.Background()
	var order []string
	for len(order) != most {
		x.cluster.AddVMs(x.t, 1)
		x.seq++
		claims := x.cluster.Exchange(x.t, x.seq, 1).Claims
		if len(claims) == 0 {
			break
		}
		c := claims[0]
		spec := c.ReadSpec()
		order = append(order, spec.Submitter)
		score, broken := judge(spec)
		full := 10.0
		r := core.Result{ID: spec.ID, Generation: spec.Generation, State: core.RequestCompleted, Score: &score, MaxScore: &full, Token: c.Token, VM: c.VM, Pool: spec.Pool, Host: "h1"}
		switch broken {
		case "platform":
			r.State, r.Blame, r.Score, r.MaxScore = core.RequestDead, core.BlamePlatform, nil, nil
		case "cancelled":
			r.State, r.Score, r.MaxScore = core.RequestCancelled, nil, nil
		}
		if c.Cancelled != "" {
			r.State, r.Score, r.MaxScore = core.RequestCancelled, nil, nil
		}
		_, err := x.store.Record(ctx, r)
		require.NoError(x.t, err)
		x.seq++
		x.cluster.Exchange(x.t, x.seq, 0, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
	}
	return order
}

// begin starts an experiment.
func (x *trial) begin(t classes.Trial) school.Experiment {
	x.t.Helper()
	e, err := x.reg.StartExperiment(context.Background(), x.tess, "cs", x.hw, t)
	require.NoError(x.t, err)
	return e
}

func (x *trial) kinds() *taskrunner.Experiments {
	return &taskrunner.Experiments{Store: x.past, Work: x.work, Tasks: x.submitter}
}

// try does one try of a task that is there and has not ended, and records its end as a runner does.
func (x *trial) try(id string) (taskrunner.End, error) {
	x.t.Helper()
	ctx := context.Background()
	task, err := x.store.GetTask(ctx, id)
	if core.Is(err, core.CodeNotFound) || task.State.Terminal() {
		return taskrunner.End{}, nil
	}
	require.NoError(x.t, err)
	kind := x.kinds().Whole()
	if task.Kind == school.KindRerun {
		kind = x.kinds().Part()
	}
	end, err := kind.Handle(ctx, &taskrunner.Job{Task: task, Attempt: 1, Age: x.now().Sub(time.UnixMilli(task.Created))})
	if err == nil && end.Later == 0 {
		_, err = x.store.EndTask(ctx, core.TaskEnd{ID: id, Generation: task.Generation, State: core.TaskDone, Note: end.Note})
		require.NoError(x.t, err)
		_, err = x.redis.WithdrawTask(ctx, task.Key())
		require.NoError(x.t, err)
	}
	return end, err
}

// parts are the tasks that make an experiment's requests and have not ended.
func (x *trial) parts(id string) (ids []string) {
	x.t.Helper()
	all, err := x.store.ListTasks(context.Background(), core.TaskFilter{Parent: id, States: []core.TaskState{core.TaskQueued}, Limit: 1000})
	require.NoError(x.t, err)
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}

// spread makes all requests of an experiment.
func (x *trial) spread(id string) {
	x.t.Helper()
	_, err := x.try(id)
	require.NoError(x.t, err)
	for _, part := range x.parts(id) {
		end, err := x.try(part)
		require.NoError(x.t, err)
		require.Zero(x.t, end.Later)
	}
}

// ready brings an experiment to where it is to be decided.
func (x *trial) ready(id string, judge func(spec core.Spec) (float64, string)) taskrunner.End {
	x.t.Helper()
	x.spread(id)
	x.grade(-1, judge)
	end, err := x.try(id)
	require.NoError(x.t, err)
	require.Zero(x.t, end.Later)
	require.Equal(x.t, school.ExperimentReady, x.experiment(id).State)
	return end
}

func (x *trial) experiment(id string) school.Experiment {
	x.t.Helper()
	e, err := x.store.GetExperiment(context.Background(), id)
	require.NoError(x.t, err)
	return e
}

// requests are those of an experiment, in any of the states.
func (x *trial) requests(id string, states ...core.RequestState) []core.Row {
	x.t.Helper()
	all, err := x.store.List(context.Background(), core.Filter{Assignment: school.ExperimentAssignment(id), States: states, Limit: 1000})
	require.NoError(x.t, err)
	return all
}

func (x *trial) standings() map[string]school.Standing {
	x.t.Helper()
	all, err := x.store.Standings(context.Background(), "cs", x.hw, "", 1000)
	require.NoError(x.t, err)
	by := map[string]school.Standing{}
	for _, s := range all {
		by[s.Submission.User] = s
	}
	return by
}

// waiting counts what Redis has waiting of anybody.
func (x *trial) waiting() (requests, tasks int) {
	x.t.Helper()
	all, err := x.redis.Waiting(context.Background())
	require.NoError(x.t, err)
	for _, q := range all {
		requests += q.Waiting
	}
	open, err := x.redis.TaskQueues(context.Background())
	require.NoError(x.t, err)
	for _, q := range open {
		tasks += q.Waiting
	}
	return requests, tasks
}

func byRun(e school.Experiment, scores ...float64) func(spec core.Spec) (float64, string) {
	return func(spec core.Spec) (float64, string) {
		for i, score := range scores {
			if experiment.RequestID(e.ID, spec.Submission, i) == spec.ID {
				return score, ""
			}
		}
		return 0, "platform"
	}
}
