package testrunner

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/harness/cases"
)

// What is built, for keys and metrics.
const (
	buildOfChecker    = "checker"
	buildOfInteractor = "interactor"
	buildOfSubmission = "submission"
)

// buildKey names what is built from the same files in the same surroundings; "" if it is not kept. What is built of a
// submission is kept for its submitter alone: how long a grading takes tells nobody what others have submitted, and
// whatever a build can be made to leave, it leaves it to the one who made it.
func (j *job) buildKey(of string) string {
	if j.r.builds == nil {
		return ""
	}
	const format = 1 // of states
	spec := &j.w.Spec
	from := struct {
		Format                           int
		Of, Pool, Image, System, Harness string
		Env                              []string
		Limits, Pools                    core.Limits
		Submitter                        string
		Files                            []core.File
	}{Format: format, Of: of, Pool: spec.Pool, Image: j.image, System: systemStamp(), Harness: spec.Harness.Digest, Env: spec.Env, Limits: j.limits, Pools: j.pool.Limits}
	if of == buildOfSubmission {
		from.Submitter, from.Files = spec.Submitter, spec.Files
	}
	text, err := json.Marshal(from)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// systemStamp changes when programs of the host are installed or replaced, which VMs without an image have, too.
func systemStamp() string {
	var stamp strings.Builder
	libraries, _ := filepath.Glob("/usr/lib/*-linux-*") // the pattern is a good one
	for _, dir := range append(libraries, "/etc/alternatives", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/include", "/usr/local/bin", "/usr/local/lib", "/usr/local/include") {
		if info, err := os.Stat(dir); err == nil {
			fmt.Fprintf(&stamp, "%s %d\n", dir, info.ModTime().UnixNano())
		}
	}
	return stamp.String()
}

// reuse has a VM take what an earlier grading has built, and reports whether it did.
func (j *job) reuse(vm VM, of, name, key string) (bool, error) {
	if key == "" {
		return false, nil
	}
	from := "made"
	defer func() { j.r.metrics.builds.Add(1, of, from) }()
	f := j.r.builds.open(key)
	if f == nil {
		return false, nil
	}
	defer f.Close() //nolint:errcheck // only read from
	err := vm.Take(j.ctx, name, f)
	switch {
	case err == nil:
		from = "kept"
		return true, nil
	case j.ctx.Err() != nil, core.Is(err, core.CodeBadVM), core.Is(err, core.CodeUnavailable), core.Is(err, core.CodeConflict):
		return false, err
	}
	j.log.WithError(err).Warn("what was built before cannot be used; it is built again")
	j.r.builds.drop(key)
	return false, nil
}

// saveTime bounds how long a grading waits for what it has built to be kept.
const saveTime = 30 * time.Second

// save keeps a state of a VM for later gradings. No code of a test has run in the VM so far.
func (j *job) save(vm VM, name, key string) {
	if key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(j.ctx, saveTime)
	defer cancel()
	err := j.r.builds.put(key, func(w io.Writer) error {
		_, err := vm.Give(ctx, name, w, mostBuild)
		return err
	})
	if err != nil {
		j.log.WithError(err).Debug("what was built is not kept for later gradings")
	}
}

// compile builds the submission and keeps the result as the start of each test; or has the VM take what an earlier
// grading of the same files has built.
func (j *job) compile() (*cases.Outcome, error) {
	p, key := j.suite.plan, ""
	if p.BuildCache {
		key = j.buildKey(buildOfSubmission)
	}
	reused, err := j.reuse(j.vm, buildOfSubmission, keptBuilt, key)
	if reused {
		j.live.add(agent.Stdout, []byte("build: from the cache\n"))
	}
	if err != nil || reused {
		return nil, err
	}
	build, err := j.build(j.vm, p.Files, p.Build, p.BuildLimits)
	if build == nil && err == nil {
		build, err = j.keepBuilt()
	}
	if build == nil && err == nil {
		j.save(j.vm, keptBuilt, key)
	}
	return build, err
}

// prepareChecker builds the checker, before the submission can run, and keeps it; or has the VM take the one that an
// earlier grading by the same harness has built.
func (j *job) prepareChecker() error {
	c := j.suite.plan.Checker
	if c == nil {
		return nil
	}
	if err := j.vm.Keep(j.ctx, keptSubmission); err != nil {
		return j.refused(core.BlameSubmission, err)
	}
	key := j.buildKey(buildOfChecker)
	if reused, err := j.reuse(j.vm, buildOfChecker, keptChecker, key); err != nil || reused {
		return err
	}
	if err := j.vm.Reset(j.ctx, ""); err != nil {
		return err
	}
	j.untrusted = false
	if err := j.buildChecker(j.vm, c, key); err != nil {
		return err
	}
	if err := j.vm.Reset(j.ctx, keptSubmission); err != nil {
		return err // only the checker can have caused it
	}
	j.untrusted = true
	return nil
}

// buildChecker builds a checker or interactor in a VM, and keeps it there and for later gradings.
func (j *job) buildChecker(vm VM, c *cases.Checker, key string) error {
	bad, err := j.build(vm, c.Files, c.Build, c.Limits)
	if err != nil {
		return err
	}
	if bad != nil {
		return unbuilt(c, bad)
	}
	if err := vm.Keep(j.ctx, keptChecker); err != nil {
		return j.refused(core.BlameHarness, err)
	}
	j.save(vm, keptChecker, key)
	return nil
}

// unbuilt is the end of a grading whose checker, interactor or grader could not be built.
func unbuilt(c *cases.Checker, bad *cases.Outcome) error {
	const most = 300
	return &ended{core.BlameHarness, notYours + "its " + c.Word + " could not be built: " + bad.Why + ": " + strings.TrimSpace(string(bad.Stderr[:min(len(bad.Stderr), most)]))}
}

// build copies files over those in work and runs commands there, until one fails.
func (j *job) build(vm VM, files []string, commands []cases.Command, limits cases.Limits) (*cases.Outcome, error) {
	if len(files) > 0 {
		if err := j.lay(vm, func(w *tar.Writer) error {
			for _, name := range files {
				if err := j.suite.add(w, name, cases.Content{Path: name}); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return nil, j.refused(core.BlameHarness, err)
		}
	}
	for _, c := range commands {
		run, err := j.one(vm, j.step(c, j.w.Spec.Env), limits)
		if err != nil {
			return nil, err
		}
		verdict, why, by := run.verdict(well, limits)
		if verdict == "" {
			continue
		}
		if j.suite.late {
			why, by = j.timeIsUp(), core.ByWhole
		}
		said := run.stderr.String()
		if strings.TrimSpace(said) == "" {
			said = run.stdout.String()
		}
		return &cases.Outcome{Verdict: cases.BuildError, By: by, Why: why, Ran: true, Usage: run.usage(), Stderr: []byte(said)}, nil
	}
	return nil, nil
}

// keepBuilt keeps the result of the build as the start of each test.
func (j *job) keepBuilt() (*cases.Outcome, error) {
	err := j.vm.Keep(j.ctx, keptBuilt)
	if core.Is(err, core.CodeInvalid) || core.Is(err, core.CodeLimit) {
		return &cases.Outcome{Verdict: cases.BuildError, By: core.ByRoom, Why: "what it left cannot be kept: " + err.Error()}, nil
	}
	return nil, err
}
