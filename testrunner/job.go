package testrunner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/core/harness"
	"drover/core/worker"
)

// job is one claim, from its start to its result.
type job struct {
	r       *Runner
	worker  *worker.Worker
	w       *worker.Work
	ctx     context.Context // ends when the work must stop
	log     logrus.FieldLogger
	pool    core.Pool
	once    bool // the request must not run again once it was begun
	begun   bool // the store knows that this claim has begun it
	limits  core.Limits
	arrived time.Time         // when the claim arrived, by our clock
	started time.Time         // when its command started; zero before
	before  look              // at the host, when its command started
	after   look              // and when its result was made
	phase   core.RequestState // as last reported to Redis
	until   time.Time         // when it ends or is reported again, as last reported to Redis

	vm       VM
	peer     VM // nil while nothing of the request runs there
	image    string
	assigned bool // the VM has taken the request
	// Set if the submission ran last in the VM, or started what did: processes that are left belong to it.
	untrusted bool
	staged    map[string]bool
	input     harness.Input
	stdin     *source // of a plain command
	suite     *suite  // of the stock harness
	out       capture
	live      *live
}

func (s *session) newJob(ctx context.Context, w *worker.Work) *job {
	r := s.r
	j := &job{
		r: r, worker: s.worker, w: w, ctx: ctx, arrived: r.deps.Clock.Now(), staged: map[string]bool{},
		phase: core.RequestClaimed,
		log:   r.log.WithFields(logrus.Fields{"request": w.Key, "vm": w.VM, "token": w.Token}),
		live:  startLive(r.deps.Output, r.deps.Clock, w.Key, w.Token),
	}
	var known bool
	j.pool, known = r.pools.get(ctx, w.Spec.Pool)
	j.once = !known || w.Spec.RunsOnce(j.pool)
	j.limits = w.Spec.Limits.Or(j.pool.Limits)
	return j
}

// do runs the claim to its end. An *ended error is a bad end that another try would not change; any other error is a
// platform fault, unless the context has ended.
func (j *job) do() (core.Result, error) {
	defer j.live.close()
	if j.ctx.Err() != nil {
		return core.Result{}, j.ctx.Err()
	}
	if j.w.Spec.Harness != nil {
		input, err := harness.ParseInput(j.w.Spec.Input)
		if err != nil {
			return core.Result{}, &ended{core.BlamePlatform, "The request cannot be graded, because " + err.Error() + "."}
		}
		j.input = input
		// The author may lower the request's time limit, not raise it.
		if limit := input.Config.Timeout; limit > 0 && limit < j.limits.Timeout {
			j.limits.Timeout = limit
		}
	}
	j.out.limit = j.limits.Output
	dir := filepath.Join(j.r.cfg.RunDir, j.w.VM)
	vm, err := j.r.deps.Dial(dir)
	if err != nil {
		return core.Result{}, err
	}
	defer vm.Close()
	defer func() {
		if j.suite != nil {
			_ = j.suite.file.Close() // it was only read
		}
		if j.peer != nil {
			j.peer.Close()
		}
	}()
	j.vm, j.image = vm, imageOf(dir)
	if err := j.stage(j.ctx); err != nil {
		return core.Result{}, missing(err)
	}
	if j.stdin != nil {
		defer j.stdin.from.Close() //nolint:errcheck // only read from
	}
	j.r.metrics.staging.Observe(j.r.deps.Clock.Now().Sub(j.arrived).Seconds())
	if err := j.begin(); err != nil {
		return core.Result{}, err
	}
	if j.suite != nil {
		return j.grade()
	}
	return j.run()
}

// missing turns a missing blob into a bad end, and returns other errors unchanged.
func missing(err error) error {
	var blob *blobFault
	if errors.As(err, &blob) && core.Is(blob.err, core.CodeNotFound) {
		return &ended{core.BlamePlatform, blob.missing}
	}
	return err
}

// run runs the staged job and judges its end.
func (j *job) run() (core.Result, error) {
	run, err := j.command()
	if err != nil {
		return core.Result{}, err
	}
	j.begins()
	late := j.limits.Timeout + j.r.cfg.RunGrace
	ctx, cancel := context.WithTimeoutCause(j.ctx, late,
		core.Wrap(errLate, core.CodeBadVM, j.w.VM, "VM %s did not end a run within %s", j.w.VM, late))
	defer cancel()
	ctx, taken := context.WithCancelCause(ctx)
	defer taken(nil)
	// The command does not wait for Redis to hear of it. If the claim is not ours any more, it is stopped.
	told := make(chan error, 1)
	go func() {
		err := j.running(j.limits.Timeout)
		if err != nil {
			taken(err)
		}
		told <- err
	}()
	exit, err := j.perform(ctx, run, func(stream string, data []byte) {
		j.out.add(stream, data)
		j.live.add(stream, data)
	})
	if lost := <-told; lost != nil {
		return core.Result{}, lost
	}
	switch {
	case err == nil:
	case core.Is(err, core.CodeInvalid):
		return j.unstartable(err), nil
	case j.ctx.Err() == nil && ctx.Err() != nil:
		return core.Result{}, context.Cause(ctx)
	default:
		return core.Result{}, err
	}
	if j.stdin != nil && j.stdin.fault() != nil {
		// The program's input was cut off, so its result is void.
		return core.Result{}, missing(&blobFault{err: j.stdin.fault(), missing: reasonNoSubmission})
	}
	res := j.judge(exit)
	return res, j.collect(j.ctx, &res)
}

// command returns what to run: the request's own command, or the harness.
func (j *job) command() (agent.Run, error) {
	spec := &j.w.Spec
	if spec.Harness == nil {
		run := agent.Run{Args: spec.Command, Env: spec.Env, Dir: agent.WorkDir, Limits: j.limits}
		if j.stdin != nil {
			run.Stdin = io.Reader(j.stdin)
		}
		return run, nil
	}
	stdin, err := j.input.Stdin(spec, harness.Places{Harness: agent.HarnessDir, Submission: agent.SubmissionDir}, map[string]any{
		"drover/request": spec.ID, "drover/attempt": j.w.Attempts + 1, "drover/work_directory": agent.WorkDir,
		"drover/timeout": j.limits.Timeout.Seconds(), "drover/memory": j.limits.Memory, "drover/pids": j.limits.Pids,
		"drover/output": j.limits.Output, "drover/peer": j.away(), "vz/uid": wire.JobUID, "vz/gid": wire.JobUID,
	})
	if err != nil {
		return agent.Run{}, &ended{core.BlamePlatform, "The request cannot be graded, because its input cannot be written: " + err.Error() + "."}
	}
	env := append([]string{}, spec.Env...)
	env = append(env, "DROVER_HARNESS="+agent.HarnessDir, "DROVER_SUBMISSION="+agent.SubmissionDir, "DROVER_WORK="+agent.WorkDir)
	return agent.Run{
		Args: []string{agent.HarnessDir + "/" + harness.MainFile}, Env: env, Dir: agent.HarnessDir,
		Stdin: bytes.NewReader(stdin), Limits: j.limits, Harness: true, Away: j.away(),
	}, nil
}

// maxVMFile bounds the bytes that are read of a VM's description.
const maxVMFile = 64 << 10

// imageOf reads from a VM's folder what the VM was made of, "" if that is not recorded: a result does not need it.
func imageOf(dir string) string {
	file, err := os.Open(filepath.Join(dir, "vm.json"))
	if err != nil {
		return ""
	}
	defer file.Close() //nolint:errcheck // only read from
	var vm struct {
		Image string `json:"image"`
	}
	if json.NewDecoder(io.LimitReader(file, maxVMFile)).Decode(&vm) != nil {
		return ""
	}
	return vm.Image
}
