package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/cmd/drover/terminal"
	"drover/core"
	"drover/core/coretest/tier"
)

// benchedJobs is what drover-lab bench jobs --json prints.
type benchedJobs struct {
	Cluster string `json:"cluster"`
	Runs    []struct {
		Kind  string                    `json:"kind"`
		Load  int                       `json:"load_percent"`
		Jobs  int                       `json:"jobs"`
		Rate  float64                   `json:"jobs_per_s"`
		Ends  map[core.RequestState]int `json:"ends"`
		Warm  int                       `json:"warm"`
		Cold  int                       `json:"cold"`
		Phase []struct {
			Name string  `json:"name"`
			Jobs int     `json:"jobs"`
			Mean float64 `json:"mean_ms"`
		} `json:"phases"`
		Processor []benchedComponent `json:"processor"`
		Total     benchedComponent   `json:"total"`
	} `json:"runs"`
}

type benchedComponent struct {
	Name   string  `json:"name"`
	User   float64 `json:"user_ms"`
	System float64 `json:"system_ms"`
	Sum    float64 `json:"ms"`
}

// benching is a command drover-lab bench jobs with a folder for temporary files of its own.
type benching struct {
	*exec.Cmd
	out, errs bytes.Buffer
	tmp       string
}

func newBenching(t *testing.T, args ...string) *benching {
	t.Helper()
	path := lab(t)
	b := &benching{}
	var err error
	b.tmp, err = os.MkdirTemp("", "bench-") // t.TempDir's names are too long for sockets
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(b.tmp)) })
	require.NoError(t, os.Chmod(b.tmp, 0o755)) // VMs have other users
	b.Cmd = b.command(path, args...)
	return b
}

func (b *benching) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, append([]string{"bench", "jobs"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + b.tmp, "HOME=" + b.tmp}
	cmd.Stdout, cmd.Stderr = &b.out, &b.errs
	return cmd
}

// requireNothingLeft requires that no process works in the folder and that it is empty.
func (b *benching) requireNothingLeft(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(b.tmp)
	require.NoError(t, err)
	require.Empty(t, left)
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, at := range environs {
		text, _ := os.ReadFile(at) // it has ended, or is somebody else's
		require.NotContains(t, string(text), b.tmp, at)
	}
}

// Figures are those of few jobs on a busy machine: what must agree is tried, and no time.
func TestJobsAreMeasuredOnAClusterOfTheirOwn(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	kinds := []string{"true", "c", "tests"}
	if _, err := exec.LookPath("cc"); err != nil {
		kinds = []string{"true", "tests"}
	}
	const jobs = 2
	args := []string{"--own", "--json", "--jobs", "2", "--at-once", "2", "--slots", "2", "--pool", "measured"}
	for _, kind := range kinds {
		args = append(args, "--only", kind)
	}
	b := newBenching(t, args...)
	require.NoError(t, b.Run(), &b.errs)
	var r benchedJobs
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &r))
	require.Equal(t, "its own", r.Cluster)
	require.Len(t, r.Runs, len(kinds))
	for i := range r.Runs {
		one := &r.Runs[i]
		require.Equal(t, kinds[i], one.Kind)
		require.Equal(t, jobs, one.Jobs)
		require.Positive(t, one.Rate)
		require.Equal(t, map[core.RequestState]int{core.RequestCompleted: jobs}, one.Ends)
		require.Equal(t, jobs, one.Warm+one.Cold, "each job met a VM, or waited for one")

		mean := map[string]float64{}
		for _, p := range one.Phase {
			require.Equal(t, jobs, p.Jobs, p.Name)
			mean[p.Name] = p.Mean
		}
		require.InDelta(t, mean["submitted to finished"], mean["submitted to claimed"]+mean["claimed to started"]+mean["started to finished"], 0.001, "%v", mean)
		require.GreaterOrEqual(t, mean["submitter: until the end is known"], mean["submitter: until accepted"])
		require.Equal(t, one.Kind != "true", mean["submitter: until the first output"] > 0, "what prints has a first output")
		require.Equal(t, one.Kind == "tests", mean["the same programs by themselves"] > 0)

		var sum benchedComponent
		names := ""
		for _, c := range one.Processor {
			require.InDelta(t, c.Sum, c.User+c.System, 0.001, c.Name)
			require.GreaterOrEqual(t, min(c.User, c.System), 0.0, c.Name)
			sum.User, sum.System, names = sum.User+c.User, sum.System+c.System, names+strings.Fields(c.Name)[0]+" "
		}
		require.InDelta(t, one.Total.User, sum.User, 0.001)
		require.InDelta(t, one.Total.System, sum.System, 0.001)
		require.InDelta(t, one.Total.Sum, sum.User+sum.System, 0.001)
		require.Equal(t, "VMs: vmfactory testrunner overseer redis-server this ", names)
		if one.Kind == "c" { // its program says itself what it used; a tick is 10 ms
			require.Greater(t, one.Processor[0].Sum, 50.0-10, "%+v", one.Processor)
		}
	}
	b.requireNothingLeft(t)
}

// A site has a process of its own, and jobs that come at random moments have a report of their own.
func TestFirstOutputIsMeasuredThroughASite(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	const jobs = 2
	b := newBenching(t, "--api", "--json", "--jobs", "2", "--at-once", "1", "--slots", "2", "--only", "line", "--load", "90")
	require.NoError(t, b.Run(), &b.errs)
	var r benchedJobs
	require.NoError(t, json.Unmarshal(b.out.Bytes(), &r))
	require.Equal(t, "its own", r.Cluster)
	require.Len(t, r.Runs, 2)
	require.Equal(t, []int{0, 90}, []int{r.Runs[0].Load, r.Runs[1].Load})
	for i := range r.Runs {
		one := &r.Runs[i]
		require.Equal(t, map[core.RequestState]int{core.RequestCompleted: jobs}, one.Ends)
		seen := map[string]int{}
		for _, p := range one.Phase {
			seen[p.Name] = p.Jobs
		}
		require.Equal(t, jobs, seen["submitter: until the first output"])
		require.Equal(t, jobs, seen["claimed to first output at the submitter"])
		require.Equal(t, "web", one.Processor[len(one.Processor)-2].Name)
	}
	b.requireNothingLeft(t)
}

func TestJobsAreMeasuredOnARunningCluster(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	b := newBenching(t)
	data := filepath.Join(b.tmp, "data")
	up := exec.Command(filepath.Join(filepath.Dir(b.Path), "drover"), "up", "--data", data)
	up.Env = append(b.Env, "DROVER_SELF_TEST=off", "DROVER_SUSPECT=1m", "DROVER_DOWN=2m")
	said, err := up.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, up.Start())
	t.Cleanup(func() {
		_ = up.Process.Signal(syscall.SIGTERM) // its end tells of what went wrong
		_, _ = io.Copy(io.Discard, said)
		require.NoError(t, up.Wait())
		destroy := exec.Command(up.Path, "vmfactory", "--destroy-vms", "--data", data)
		destroy.Env = up.Env
		require.NoError(t, destroy.Run())
	})
	for lines := bufio.NewScanner(said); ; {
		require.True(t, lines.Scan(), "it ended")
		if strings.Contains(lines.Text(), "the cluster is up") {
			break
		}
	}
	measure := func(args ...string) (out, errs string, code int) {
		b.out.Reset()
		b.errs.Reset()
		cmd := b.command(b.Path, append(args, "--data", data)...)
		_ = cmd.Run() // the code says how it ended
		return b.out.String(), b.errs.String(), cmd.ProcessState.ExitCode()
	}
	var r benchedJobs
	out, errs, code := measure("--only", "true", "--jobs", "2", "--at-once", "2", "--json")
	require.Zero(t, code, errs)
	require.Contains(t, errs, "measures the cluster at unix:")
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Contains(t, r.Cluster, data)
	require.Len(t, r.Runs, 1)
	require.Equal(t, map[core.RequestState]int{core.RequestCompleted: 2}, r.Runs[0].Ends)
	require.Len(t, r.Runs[0].Processor, 1, "an embedded Redis does not tell its time")

	out, errs, code = measure("--only", "cases", "--jobs", "1", "--at-once", "1")
	require.Zero(t, code, errs)
	require.Regexp(t, `cases: 1 jobs, [\d.]+ a second; (0|100) % met a warm VM`, out)
	require.Contains(t, out, "submitted to claimed")

	_, errs, code = measure("--pool", "nosuch", "--jobs", "1")
	require.Equal(t, terminal.ExitNotFound, code)
	require.Contains(t, errs, "there is no pool nosuch")
}

// However it ends, VMs, processes and files go: at once, or at the next start.
func TestAMeasurementOfJobsLeavesNothing(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Journey)
	endless := []string{"--own", "--only", "true", "--jobs", "1000000", "--at-once", "2"}
	for how, signal := range map[string]syscall.Signal{"interrupted": syscall.SIGINT, "killed": syscall.SIGKILL} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := newBenching(t, endless...)
			require.NoError(t, b.Start())
			require.Eventually(t, func() bool {
				vms, err := filepath.Glob(filepath.Join(b.tmp, "drover-bench-*", "run", "01*"))
				return err == nil && len(vms) > 1
			}, testTimeout, 10*time.Millisecond, "it has VMs")
			require.NoError(t, b.Process.Signal(signal))
			_ = b.Wait() // the code says how it ended
			if signal == syscall.SIGKILL {
				again := b.command(b.Path, "--own", "--only", "true", "--jobs", "1", "--at-once", "1")
				require.NoError(t, again.Run(), &b.errs)
			} else {
				require.Equal(t, 130, b.ProcessState.ExitCode(), &b.errs)
				require.Contains(t, b.errs.String(), "stopped before it ended")
			}
			b.requireNothingLeft(t)
		})
	}
}

func TestWrongMeasurementsOfJobsAreRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--jobs 0":                   "--jobs 0 must be between 1 and 1000000",
		"--at-once 2000":             "--at-once 2000 must be between 1 and 1024",
		"--warm 0":                   "--warm 0 must be between 1 and 1024",
		"--own --slots 2000":         "--slots 2000 must be between 1 and 1024",
		"--only nosuch":              `there is no kind "nosuch" of jobs: --only takes true, line, c, cases, tests`,
		"--pool ../x":                "is not a valid name",
		"more":                       `takes no argument "more"`,
		"--pause 11s":                "--pause 11s must be between 0 and 10s",
		"--load 100":                 "--load 100 must be between 0 and 99",
		"--own --server https://x.y": "--own and --api make a cluster for this command alone: leave --server away",
		"--api --server https://x.y": "--own and --api make a cluster for this command alone: leave --server away",
		"--nosuch":                   "nosuch",
	} {
		var out, errs bytes.Buffer
		code := typeIn(t.Context(), append([]string{"bench", "jobs"}, strings.Fields(args)...), nil, &out, &errs)
		require.Equal(t, 2, code, "%s: %s", args, &errs)
		require.Contains(t, errs.String(), want, args)
	}
}
