package taskrunner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/school"
	"drover/core/store/storetest"
	"drover/taskrunner"
)

// send submits a task.
func (r *redisRig) send(task core.Task) core.Task {
	r.t.Helper()
	task, _, err := r.in.SubmitTask(context.Background(), task)
	require.NoError(r.t, err)
	return task
}

func (r *redisRig) state(id string) core.Task {
	task, err := r.store.GetTask(context.Background(), id)
	require.NoError(r.t, err)
	return task
}

// A running task is stopped by its runner, also by one that has no slot to spare,
// and shows how far it was.
func TestOnRedisATaskInHandIsCancelled(t *testing.T) {
	t.Parallel()
	r := newRedisRig(t, coretest.Real(t))
	r.cfg.Slots = 1
	begun := make(chan struct{})
	r.do(taskrunner.Kind{Name: "slow", Handle: func(ctx context.Context, job *taskrunner.Job) (taskrunner.End, error) {
		job.Progress(3, 5, "at it")
		close(begun)
		<-ctx.Done()
		return taskrunner.End{}, ctx.Err()
	}})
	p := r.startWith(r.deps())
	task := r.send(core.Task{Kind: "slow"})
	<-begun
	at := core.TaskProgress{Done: 3, Total: 5, Text: "at it"}
	until(t, func() bool {
		places, err := r.redis.LocateTasks(context.Background(), []string{task.Key()})
		require.NoError(t, err)
		return places[0].State == core.TaskRunning && places[0].Progress != nil && *places[0].Progress == at
	})
	_, err := r.redis.CancelTask(context.Background(), task.Key(), "ann")
	require.NoError(t, err)
	r.untilEnded()
	got := r.state(task.ID)
	require.Equal(t, core.TaskCancelled, got.State)
	require.Equal(t, "cancelled by ann", got.Note)
	require.Equal(t, &at, got.Progress)
	require.Empty(t, got.Failures)
	p.stop()
	coretest.RequireSound(t, r.redis)
}

// A task fans out, waits for its parts without a slot, and is woken by their ends.
func TestOnRedisATaskFansOut(t *testing.T) {
	t.Parallel()
	r := newRedisRig(t, coretest.Real(t))
	r.cfg.Slots = 1
	const parts = 7
	r.do(taskrunner.Kind{Name: "whole", MaxAttempts: 1, Handle: func(ctx context.Context, job *taskrunner.Job) (taskrunner.End, error) {
		for i := range parts {
			_, _, err := r.in.SubmitTask(ctx, core.Task{ID: fmt.Sprint(job.Task.ID, "-", i), Kind: "ok", Parent: job.Task.ID})
			if err != nil {
				return taskrunner.End{}, err
			}
		}
		tally, err := r.store.CountChildren(ctx, job.Task.ID)
		if err != nil || tally.Open() > 0 {
			return taskrunner.End{Later: time.Hour}, err
		}
		return taskrunner.End{Note: fmt.Sprintf("%d parts", tally.Done)}, nil
	}})
	p := r.startWith(r.deps())
	whole := r.send(core.Task{Kind: "whole"})
	r.untilEnded()
	require.Equal(t, "7 parts", r.state(whole.ID).Note)
	require.Equal(t, parts, r.runs("ok"))
	p.stop()
	coretest.RequireSound(t, r.redis)
}

// Two hundred tasks of three kinds, one with a rate, one of which only two may be in
// submit the whole cluster: each is done once, within the bounds.
func TestOnRedisRatesOfKinds(t *testing.T) {
	t.Parallel()
	r := newRedisRig(t, coretest.Real(t))
	const every, burst, each = 5 * time.Millisecond, 10, 70
	r.cfg.Rates = map[string]core.TaskRate{"paced": {Every: every, Burst: burst}, "narrow": {Most: 2}}
	r.cfg.Slots = 8
	var mu sync.Mutex
	done := map[string]int{}
	var last time.Time
	var now, most atomic.Int64
	for _, kind := range []string{"paced", "narrow", "free"} {
		r.do(taskrunner.Kind{Name: kind, Handle: func(_ context.Context, job *taskrunner.Job) (taskrunner.End, error) {
			if kind == "narrow" {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				<-time.After(time.Millisecond)
			}
			mu.Lock()
			defer mu.Unlock()
			done[job.Task.ID]++
			if kind == "paced" {
				last = time.Now()
			}
			return taskrunner.End{}, nil
		}})
	}
	begun := time.Now()
	first := r.startWith(r.deps())
	r.cfg.Registration.Owner = core.OwnerName(core.RoleTaskrunner, "h1", 1)
	second := r.startWith(r.deps())
	for range each {
		for _, kind := range []string{"paced", "narrow", "free"} {
			r.submit(kind, "")
		}
	}
	r.untilEnded()
	require.Len(t, done, 3*each)
	for id, n := range done {
		require.Equal(t, 1, n, id)
	}
	require.LessOrEqual(t, most.Load(), int64(2))
	// Rates count from a claim, so no machine is too slow for this.
	require.GreaterOrEqual(t, last.Sub(begun), (each-burst)*every)
	first.stop()
	second.stop()
	coretest.RequireSound(t, r.redis)
}

// On the real parts: a class is archived, listed and deleted, with a request that waits.
func TestOnRedisTheLifeOfAClass(t *testing.T) {
	t.Parallel()
	r := newRedisRig(t, coretest.Real(t))
	ctx := context.Background()
	require.NoError(t, r.in.SetPool(ctx, core.DefaultPool("default")))
	_, err := r.store.PutClass(ctx, school.Class{Handle: "cs", Title: "Computer Science"})
	require.NoError(t, err)
	_, err = r.store.PutAssignment(ctx, school.Assignment{Class: "cs", Handle: "hw1", Title: "First", Pool: "default", Priority: core.PriorityNormal})
	require.NoError(t, err)
	_, err = r.store.PutUser(ctx, school.User{Handle: "ann"})
	require.NoError(t, err)
	require.NoError(t, r.store.Enrol(ctx, school.Enrolment{Class: "cs", User: "ann", Role: core.RoleStudent}))
	id := storetest.NewID()
	digest, size, err := r.blobs.Put(ctx, strings.NewReader("int main;"), 100)
	require.NoError(t, err)
	grading := core.Spec{ID: id, Pool: "default", Submitter: "ann", Assignment: "cs/hw1", Submission: id, Command: []string{"true"}}
	require.NoError(t, r.in.SubmitWith(ctx, grading, func(ctx context.Context, spec core.Spec) (created bool, err error) {
		grading = spec
		_, created, err = r.store.CreateSubmission(ctx, school.Submission{
			ID: id, Class: "cs", Assignment: "hw1", User: "ann", Kind: "public", Request: id, Files: []core.File{{Path: "main.c", Digest: digest, Size: size}},
		}, &spec)
		return created, err
	}))

	deps := r.deps()
	deps.Work = r.in
	p := r.startWith(deps)
	made := map[string]core.Task{}
	for kind, args := range map[string]any{
		school.KindArchive:       school.ArchiveArgs{Class: "cs", Assignment: "hw1"},
		school.KindAssignmentCSV: school.AssignmentCSVArgs{Class: "cs", Assignment: "hw1"},
		school.KindGradebook:     school.GradebookArgs{Class: "cs", Fill: "0"},
	} {
		text, err := json.Marshal(args)
		require.NoError(t, err)
		made[kind] = r.send(core.Task{Kind: kind, Args: text, About: "cs"})
	}
	r.untilEnded()
	for kind, task := range made {
		task = r.state(task.ID)
		require.Equal(t, core.TaskDone, task.State, "%s: %s", kind, task.Note)
		content, err := r.blobs.Open(ctx, task.Download.Digest)
		require.NoError(t, err)
		require.NoError(t, content.Close())
	}

	class, err := r.store.GetClass(ctx, "cs")
	require.NoError(t, err)
	class.Deleting = true
	_, err = r.store.PutClass(ctx, class)
	require.NoError(t, err)
	deletion := r.send(core.Task{Kind: school.KindDeleteClass, Args: []byte(`{"class":"cs"}`), About: "cs"})
	r.untilEnded()
	require.Equal(t, core.TaskDone, r.state(deletion.ID).State, r.state(deletion.ID).Note)
	_, err = r.store.GetClass(ctx, "cs")
	require.True(t, core.Is(err, core.CodeNotFound), err)
	_, err = r.store.Get(ctx, grading.ID)
	require.True(t, core.Is(err, core.CodeNotFound), err)
	present, err := r.redis.Present(ctx, []string{grading.Key()})
	require.NoError(t, err)
	require.Equal(t, []bool{false}, present)
	p.stop()
	coretest.RequireSound(t, r.redis)
}
