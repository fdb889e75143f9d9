package course

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/request"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/harness"
	"drover/core/harness/problem"
	"drover/core/requests"
)

// verified is a program of a package, and how it ended.
type verified struct {
	Path   string          `json:"path"`
	Wanted string          `json:"expected"`
	Got    problem.Outcome `json:"outcome"`
	Fits   bool            `json:"fits"`
	Score  *float64        `json:"score,omitempty"`
	Max    *float64        `json:"max_score,omitempty"`
	CPUMs  int64           `json:"cpu_ms"` // of the slowest test
	Memory int64           `json:"memory_peak_bytes"`
	About  string          `json:"about,omitempty"` // the test that decided

	result *core.Result
	timed  bool // for the time limit, if that is measured
}

// verification is the work of drover problem verify.
type verification struct {
	p       *problem.Problem
	scratch string
	backend access.Backend
	pool    string
	rows    []verified
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
	pool.Limits.Disk, pool.Limits.FileSize, pool.Limits.Pids = verifyDisk, verifyDisk, verifyPids
	pool.Limits.Timeout, pool.Limits.Output = verifyTimeout, core.MaxOutputBytes
	return pool
}

// run grades everything: input validators and accepted submissions first if the time limit is to be measured.
func (v *verification) run(c *cli.Context, d access.Backend) error {
	v.backend = d
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
		row := verified{Path: program, Wanted: string(problem.Accepted)}
		r, err := v.wait(ctx, v.submit(ctx, folder, &problem.Submission{Path: program}))
		if err != nil {
			return err
		}
		v.add(row, &problem.Submission{Wanted: []problem.Outcome{problem.Accepted}}, r, false)
	}
	return nil
}

// grade grades those submissions that which chooses, at once.
func (v *verification) grade(ctx context.Context, name string, which func(*problem.Submission) bool) error {
	folder := filepath.Join(v.scratch, name)
	if err := v.p.Write(folder); err != nil {
		return err
	}
	every, err := v.everyTest(folder, which)
	if err != nil {
		return err
	}
	type begun struct {
		s *problem.Submission
		r *running
		e *running // of all tests; nil if there is no need
	}
	var all []begun
	for i := range v.p.Submissions {
		if s := &v.p.Submissions[i]; which(s) {
			one := begun{s: s, r: v.submit(ctx, folder, s)}
			if len(s.Expected) > 0 {
				one.e = v.submit(ctx, every, s)
			}
			all = append(all, one)
		}
	}
	for _, b := range all {
		r, err := v.wait(ctx, b.r)
		if err != nil {
			return err
		}
		if err := v.warn(folder, r); err != nil {
			return err
		}
		v.add(verified{Path: b.s.Path, Wanted: wanted(b.s), timed: b.s.ForTime()}, b.s, r, v.p.Scoring)
		if b.e == nil {
			continue
		}
		whole, err := v.wait(ctx, b.e)
		if err != nil {
			return err
		}
		row := &v.rows[len(v.rows)-1]
		why := b.s.Unmet(r, whole)
		if bad := v.p.Judged(whole, nil); bad == problem.JudgeError {
			row.Got, why = bad, terminal.FirstLine(whole.Reason)
		}
		if why != "" && row.Fits {
			row.Fits, row.About = false, why
		}
	}
	return nil
}

// warn notes, once, what the VMs that graded do not have and the package asks for.
func (v *verification) warn(folder string, r *core.Result) error {
	if v.warned || r.Receipt == nil {
		return nil
	}
	v.warned = true
	pack, err := harness.Pack(folder)
	if err != nil {
		return err
	}
	for _, w := range pack.Lacks(r.Receipt.Limits) {
		v.p.Notes = append(v.p.Notes, problem.Note{File: "pool " + v.pool, What: w.String()})
	}
	return nil
}

// everyTest writes a harness that runs all tests, if submissions need it, and returns its folder.
func (v *verification) everyTest(folder string, which func(*problem.Submission) bool) (string, error) {
	folder += "-every"
	for i := range v.p.Submissions {
		if s := &v.p.Submissions[i]; which(s) && len(s.Expected) > 0 {
			return folder, v.p.WriteEvery(folder)
		}
	}
	return folder, nil
}

// running is a request that was made, or why it could not be.
type running struct {
	id  string
	err error
}

func (v *verification) submit(ctx context.Context, folder string, s *problem.Submission) *running {
	draft := requests.Draft{Pool: v.pool, Assignment: s.Path}
	if v.pool == verifyPool {
		draft.Submitter = "verify"
	}
	path, err := v.p.CopyProgram(filepath.Join(v.scratch, "programs"), s)
	if err != nil {
		return &running{err: err}
	}
	if err := request.GradingDraft(&draft, folder, []string{path}, harness.TestFinal); err != nil {
		return &running{err: err}
	}
	view, err := v.backend.SubmitRequest(ctx, draft)
	return &running{view.ID, err}
}

func (v *verification) wait(ctx context.Context, r *running) (*core.Result, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := request.NewFollower(v.backend, r.id).Follow(ctx); err != nil {
		return nil, err
	}
	view, err := v.backend.ViewRequest(ctx, r.id)
	return &view.Result, err
}

// add adds the row of a grading.
func (v *verification) add(row verified, s *problem.Submission, r *core.Result, scores bool) {
	row.Got, row.result = v.p.Judged(r, s.Wanted), r
	row.Fits = s.Fits(row.Got)
	if scores {
		row.Score, row.Max = r.Score, r.MaxScore
	}
	for i := range r.Tests {
		t := &r.Tests[i]
		if t.Usage != nil {
			row.CPUMs, row.Memory = max(row.CPUMs, t.Usage.CPUMs), max(row.Memory, t.Usage.MemoryPeakBytes)
		}
		if row.About == "" && t.Verdict != core.TestAccepted {
			row.About = t.Name + ": " + terminal.FirstLine(t.Message)
		}
	}
	if row.Got == problem.JudgeError {
		row.About = terminal.FirstLine(r.Reason)
	}
	v.rows = append(v.rows, row)
}

func (v *verification) print(c *cli.Context) error {
	if c.Bool("json") {
		return terminal.PrintJSON(c.App.Writer, map[string]any{
			"title": v.p.Title, "time_ms": v.p.Limits.Time.Milliseconds(), "rows": terminal.OrEmpty(v.rows), "notes": notes(v.p.Notes),
		})
	}
	rows := make([]table.Row, len(v.rows))
	var wrong []string
	for i, r := range v.rows {
		mark := "ok"
		if !r.Fits {
			mark = "WRONG"
			wrong = append(wrong, fmt.Sprintf("%s: %s, and the package says %s (%s)", r.Path, r.Got, r.Wanted, r.About))
		}
		score := ""
		if r.Score != nil && r.Max != nil {
			score = request.OutOf(*r.Score, *r.Max)
		}
		rows[i] = table.Row{mark, terminal.Clean(r.Path), r.Wanted, string(r.Got), score, terminal.Millis(r.CPUMs), terminal.Size(r.Memory)}
	}
	head := table.Row{"", "program", "expected", "outcome", "points", "slowest", "memory"}
	err := terminal.PrintTable(c.App.Writer, "the package has no submissions", head, rows)
	if err != nil {
		return err
	}
	sentence := fmt.Sprintf("time limit %s; %d of %d programs end as the package says", v.p.Limits.Time, len(v.rows)-len(wrong), len(v.rows))
	if _, err = fmt.Fprintln(c.App.Writer, strings.Join(append([]string{sentence}, wrong...), "\n")); err != nil {
		return err
	}
	return printNotes(c, v.p)
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
