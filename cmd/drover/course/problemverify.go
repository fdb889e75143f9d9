package course

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/harness"
	"drover/core/harness/problem"
	"drover/core/requests"
	"drover/core/requests/intake"
)

// verified is a program of a package, and how it ended.
type verified struct {
	Path    string          `json:"path"`
	Wanted  string          `json:"expected"`
	Got     problem.Outcome `json:"outcome"`
	Fits    bool            `json:"fits"`
	Score   *float64        `json:"score,omitempty"`
	Max     *float64        `json:"max_score,omitempty"`
	CPUMs   int64           `json:"cpu_ms"` // of the slowest test
	Slowest string          `json:"slowest_test,omitempty"`
	Memory  int64           `json:"memory_peak_bytes"`
	WallMs  int64           `json:"wall_ms"`            // of the whole grading
	BuildMs int64           `json:"build_ms,omitempty"` // of it until the first test could start
	About   string          `json:"about,omitempty"`    // the test that decided
	Tests   []verifiedTest  `json:"tests,omitempty"`

	result *core.Result
	timed  bool // for the time limit, if that is measured
}

// verifiedTest is a test of a program in the output of --json.
type verifiedTest struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	CPUMs   int64  `json:"cpu_ms"`
	WallMs  int64  `json:"wall_ms"`
	Memory  int64  `json:"memory_peak_bytes"`
}

// verification is the work of drover problem verify.
type verification struct {
	p       *problem.Problem
	scratch string
	backend access.Backend
	pool    string
	rows    []verified
	took    time.Duration // by the clock, from the first upload to the last result
	warned  bool
}

const (
	verifyPool    = "verify"
	verifyMemory  = 2 << 30 // where the package leaves the limit to the system: what the formats call typical
	verifyDisk    = 256 << 20
	verifyPids    = 256
	verifyTimeout = time.Hour
	verifyVMs     = 4
)

func verifyProblem(c *cli.Context, p *problem.Problem) error {
	if p.Plan(); len(p.Refused) > 0 {
		return p.Check()
	}
	v := &verification{p: p, pool: c.String("pool")}
	err := wiring.InScratch(c, func(c *cli.Context, scratch string) error {
		v.scratch = scratch
		if v.pool != "" {
			return access.WithBackend(func(c *cli.Context, d access.Backend) error { return v.run(c, d) })(c)
		}
		v.pool = verifyPool
		return wiring.InEmbeddedCluster(c, filepath.Clean(scratch), []core.Pool{verifyingPool(p)}, func(c *cli.Context, h *access.Cluster) error {
			return v.run(c, h.AsOperator())
		})
	})
	if err == nil {
		err = v.print(c)
	}
	if err == nil && slices.ContainsFunc(v.rows, func(r verified) bool { return !r.Fits }) {
		return terminal.ExitCode(1)
	}
	return err
}

// verifyingPool is the pool of a cluster that lives for one package.
func verifyingPool(p *problem.Problem) core.Pool {
	pool := core.DefaultPool(verifyPool)
	pool.Warm, pool.Max, pool.Peer = 1, verifyVMs, p.Interactive
	memory := p.Limits.Memory
	if memory == 0 {
		memory = verifyMemory
	}
	pool.Limits.Memory = max(memory, p.Limits.BuildMemory, p.Limits.CheckMemory)
	disk := max(verifyDisk, memory) // a static array is as large in the program's file
	pool.Limits.Disk, pool.Limits.FileSize, pool.Limits.Pids = disk, disk, verifyPids
	pool.Limits.Timeout, pool.Limits.Output = verifyTimeout, core.MaxOutputBytes
	return pool
}

// run grades everything: input validators and accepted submissions first if the time limit is to be measured.
func (v *verification) run(c *cli.Context, d access.Backend) error {
	v.backend = d
	begun := time.Now()
	defer func() { v.took = time.Since(begun) }()
	if err := v.validate(c.Context); err != nil {
		return err
	}
	accepted := (*problem.Submission).ForTime
	all := func(*problem.Submission) bool { return true }
	if v.p.Limits.Time == 0 {
		if err := v.grade(c.Context, "measure", accepted); err != nil {
			return err
		}
		var results []*core.Result
		for _, r := range v.rows {
			if r.timed && r.result != nil {
				results = append(results, r.result)
			}
		}
		if len(results) == 0 {
			return core.Errorf(core.CodeInvalid, "time", "the package leaves its time limit to be measured, and has no accepted submission to measure: give --time")
		}
		v.p.TimeFrom(results)
		all = func(s *problem.Submission) bool { return !accepted(s) }
	}
	return v.grade(c.Context, "harness", all)
}

// validate runs the input validators on all inputs.
func (v *verification) validate(ctx context.Context) error {
	for i, program := range v.p.InputValidators {
		ext := filepath.Ext(program)
		if slices.Contains([]string{".ctd", ".viva"}, ext) {
			v.p.Notes = append(v.p.Notes, problem.Note{File: program, What: "verify does not run validators in this language"})
			continue
		}
		folder := filepath.Join(v.scratch, "inputs"+strconv.Itoa(i))
		if err := v.p.WriteInputs(folder, program); err != nil {
			return err
		}
		pack, err := harness.Pack(folder)
		if err != nil {
			return err
		}
		of := problem.Submission{Path: program, Wanted: []problem.Outcome{problem.Accepted}}
		ids, err := v.submit(ctx, &pack, []*problem.Submission{&of})
		if err != nil {
			return err
		}
		r, err := v.wait(ctx, ids[0])
		if err != nil {
			return err
		}
		v.add(verified{Path: program, Wanted: string(problem.Accepted)}, &of, r, false)
	}
	return nil
}

// grade grades those submissions that which chooses, at once.
func (v *verification) grade(ctx context.Context, name string, which func(*problem.Submission) bool) error {
	folder := filepath.Join(v.scratch, name)
	if err := v.p.Write(folder); err != nil {
		return err
	}
	pack, err := harness.Pack(folder)
	if err != nil {
		return err
	}
	var chosen, expecting []*problem.Submission
	for i := range v.p.Submissions {
		s := &v.p.Submissions[i]
		if !which(s) {
			continue
		}
		if chosen = append(chosen, s); len(s.Expected) > 0 {
			expecting = append(expecting, s)
		}
	}
	ids, err := v.submit(ctx, &pack, chosen)
	if err != nil {
		return err
	}
	every, err := v.everyTest(ctx, folder+"-every", expecting)
	if err != nil {
		return err
	}
	for i, s := range chosen {
		r, err := v.wait(ctx, ids[i])
		if err != nil {
			return err
		}
		v.warn(&pack, r)
		v.add(verified{Path: s.Path, Wanted: wanted(s), timed: s.ForTime()}, s, r, v.p.Scoring)
		if len(s.Expected) == 0 {
			continue
		}
		whole, err := v.wait(ctx, every[0])
		if err != nil {
			return err
		}
		every = every[1:]
		v.expect(s, r, whole)
	}
	return nil
}

// everyTest grades submissions by a harness that runs all tests.
func (v *verification) everyTest(ctx context.Context, folder string, all []*problem.Submission) ([]string, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if err := v.p.WriteEvery(folder); err != nil {
		return nil, err
	}
	pack, err := harness.Pack(folder)
	if err != nil {
		return nil, err
	}
	return v.submit(ctx, &pack, all)
}

// expect compares the newest row with what submissions.yaml says of it.
func (v *verification) expect(s *problem.Submission, r, whole *core.Result) {
	row := &v.rows[len(v.rows)-1]
	why := s.Unmet(r, whole)
	if bad := v.p.Judged(whole, nil); bad == problem.JudgeError {
		row.Got, why = bad, terminal.FirstLine(whole.Reason)
	}
	if why != "" && row.Fits {
		row.Fits, row.About = false, why
	}
}

// warn notes, once, what the VMs that graded do not have and the package asks for.
func (v *verification) warn(pack *harness.Package, r *core.Result) {
	if v.warned || r.Receipt == nil {
		return
	}
	v.warned = true
	for _, w := range pack.Lacks(r.Receipt.Limits) {
		v.p.Notes = append(v.p.Notes, problem.Note{File: "pool " + v.pool, What: w.String()})
	}
}

// submit has programs graded, and returns the ids of the requests. The harness is sent once for all of them.
func (v *verification) submit(ctx context.Context, pack *harness.Package, programs []*problem.Submission) ([]string, error) {
	ids := make([]string, 0, len(programs))
	for some := range slices.Chunk(programs, core.MaxBatchJobs) {
		draft := requests.BatchDraft{Pool: v.pool, Assignment: verifyPool}
		if v.pool == verifyPool {
			draft.Submitter = "verify"
		}
		paths := make([][]string, len(some))
		for i, s := range some {
			path, err := v.p.CopyProgram(filepath.Join(v.scratch, "programs"), s)
			if err != nil {
				return nil, err
			}
			paths[i] = []string{path}
		}
		if err := request.GradingBatch(&draft, pack, paths, harness.TestFinal); err != nil {
			return nil, err
		}
		batch, err := v.backend.SubmitBatch(ctx, draft)
		for job := 0; err == nil && job < len(some); job++ {
			var id string
			id, err = intake.JobID(batch.ID, job)
			ids = append(ids, id)
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (v *verification) wait(ctx context.Context, id string) (*core.Result, error) {
	if err := request.NewFollower(v.backend, id).Follow(ctx); err != nil {
		return nil, err
	}
	view, err := v.backend.ViewRequest(ctx, id)
	return &view.Result, err
}

// add adds the row of a grading.
func (v *verification) add(row verified, s *problem.Submission, r *core.Result, scores bool) {
	row.Got, row.result = v.p.Judged(r, s.Wanted), r
	row.Fits = s.Fits(row.Got)
	if scores {
		row.Score, row.Max = r.Score, r.MaxScore
	}
	row.WallMs = r.Times.Finished - max(r.Times.Started, 0)
	if r.Receipt != nil {
		row.BuildMs = r.Receipt.BuildMs
	}
	for i := range r.Tests {
		t := &r.Tests[i]
		one := verifiedTest{Name: t.Name, Verdict: t.Verdict}
		if t.Usage != nil {
			one.CPUMs, one.WallMs, one.Memory = t.Usage.CPUMs, t.Usage.WallMs, t.Usage.MemoryPeakBytes
			row.Memory = max(row.Memory, one.Memory)
			if t.Verdict != core.TestBuildError && (row.Slowest == "" || one.CPUMs > row.CPUMs) {
				row.CPUMs, row.Slowest = one.CPUMs, t.Name
			}
		}
		row.Tests = append(row.Tests, one)
		if row.About == "" && t.Verdict != core.TestAccepted {
			row.About = t.Name + ": " + terminal.FirstLine(t.Message)
		}
	}
	if row.Got == problem.JudgeError {
		row.About = terminal.FirstLine(r.Reason)
	}
	v.rows = append(v.rows, row)
}

// importProblem makes an assignment of a package.
func importProblem(c *cli.Context, p *problem.Problem) (err error) {
	args, err := terminal.ExactArgs(c, "the package's folder", "the assignment, as CLASS/HANDLE")
	if err != nil {
		return err
	}
	if p.Plan(); len(p.Refused) > 0 {
		return p.Check()
	}
	if p.Limits.Time == 0 {
		return core.Errorf(core.CodeInvalid, "time", "the package leaves its time limit to be measured: drover problem verify does; then give --time")
	}
	dir, err := os.MkdirTemp("", "drover-problem-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err = p.Write(dir); err != nil {
		return err
	}
	pack, err := harness.Pack(dir)
	if err != nil {
		return err
	}
	return access.WithBackend(func(c *cli.Context, d access.Backend) error {
		as, err := problemAssignment(c, d, p, args[1])
		if err != nil {
			return err
		}
		return withHarness(c, d, as, &pack, "is judged as the package "+args[0]+" says")
	})(c)
}
