package local

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"drover/core"
	"drover/core/agent"
)

// floor starts a trivial program in the same namespaces and waits for its end:
// what no way to make a VM can be faster than.
func floor(b *testing.B, p *Provider) {
	b.Helper()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: p.spawn.born()}
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

func cycle(b *testing.B, p *Provider, id string) (create, prepare, destroy time.Duration) {
	b.Helper()
	began := time.Now()
	if err := p.Create(b.Context(), id, core.DefaultPool("p")); err != nil {
		b.Fatal(err)
	}
	created := time.Now()
	if err := p.Prepare(b.Context(), id); err != nil {
		b.Fatal(err)
	}
	prepared := time.Now()
	if err := p.Destroy(b.Context(), id); err != nil {
		b.Fatal(err)
	}
	return created.Sub(began), prepared.Sub(created), time.Since(prepared)
}

func benchProvider(b *testing.B, cgroup string) *Provider {
	b.Helper()
	p, err := New(Config{Run: b.TempDir(), Cgroup: cgroup})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	if err := p.Ready(b.Context()); err != nil {
		b.Skip(err)
	}
	cycle(b, p, "warm-up")
	return p
}

func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Microseconds()) / 1000
}

// BenchmarkCycle makes and destroys VMs, each beside one floor, and reports
// medians in ms and how many floors a VM costs.
func BenchmarkCycle(b *testing.B) {
	for name, cgroup := range map[string]string{"cgroups": "", "no-cgroups": CgroupsOff} {
		b.Run(name, func(b *testing.B) {
			p := benchProvider(b, cgroup)
			var create, prepare, destroy, whole, bare, ratio []time.Duration
			for i := range b.N {
				began := time.Now()
				floor(b, p)
				least := time.Since(began)
				c, r, d := cycle(b, p, fmt.Sprint("vm-", i))
				create, prepare, destroy = append(create, c), append(prepare, r), append(destroy, d)
				whole, bare = append(whole, c+r+d), append(bare, least)
				ratio = append(ratio, time.Duration(float64(c+r+d)/float64(least)*float64(time.Millisecond)))
			}
			for unit, all := range map[string][]time.Duration{
				"create-ms": create, "prepare-ms": prepare, "destroy-ms": destroy, "whole-ms": whole, "floor-ms": bare, "x-floor": ratio,
			} {
				b.ReportMetric(median(all), unit)
			}
			p99 := whole[len(whole)*99/100] // sorted by now
			b.ReportMetric(float64(p99.Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkMany makes VMs four at a time, and reports how many it makes and
// destroys in a second.
func BenchmarkMany(b *testing.B) {
	const atOnce = 4
	p := benchProvider(b, "")
	b.ResetTimer()
	var all sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				cycle(b, p, fmt.Sprint("vm-", i))
			}
		})
	}
	for i := range b.N {
		next <- i
	}
	close(next)
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "VMs/s")
}

// BenchmarkJobs runs a program that does nothing in VMs of their own, four at a time, and reports how many it runs in a
// second.
func BenchmarkJobs(b *testing.B) {
	const atOnce = 4
	p := benchProvider(b, "")
	b.ResetTimer()
	var all sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				if err := oneJob(b, p, fmt.Sprint("vm-", i)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range b.N {
		next <- i
	}
	close(next)
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}

func oneJob(b *testing.B, p *Provider, id string) (err error) {
	b.Helper()
	if err := errors.Join(p.Create(b.Context(), id, core.DefaultPool("p")), p.Prepare(b.Context(), id)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Destroy(b.Context(), id)) }()
	c, err := agent.Dial(p.traces.Path(id))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Assign(b.Context(), "a"); err != nil {
		return err
	}
	e, err := c.Run(b.Context(), agent.Run{Args: []string{"true"}}, func(string, []byte) {})
	if err == nil && e.Code != 0 {
		err = fmt.Errorf("%+v", e)
	}
	return err
}

// BenchmarkTest takes turns of a program on its own and a reset with a run of it that has a share of the limits, as the
// tests of one submission are. It reports medians in ms, and what a test costs over 1.25 times the program.
func BenchmarkTest(b *testing.B) {
	for name, cgroup := range map[string]string{"cgroups": "", "no-cgroups": CgroupsOff} {
		b.Run(name, func(b *testing.B) {
			p := benchProvider(b, cgroup)
			for _, err := range []error{p.Create(b.Context(), "vm", core.DefaultPool("p")), p.Prepare(b.Context(), "vm")} {
				if err != nil {
					b.Fatal(err)
				}
			}
			defer p.Destroy(b.Context(), "vm")
			c, err := agent.Dial(filepath.Join(p.traces.Path("vm")))
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			program, built, bareDir := []string{"/bin/sh", "-c", "echo built >built"}, "built", b.TempDir()
			run := agent.Run{Args: program, Share: core.Limits{Memory: 32 << 20, Pids: 8}, CPU: time.Second}
			must := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			turn := func() {
				e, err := c.Run(b.Context(), run, func(string, []byte) {})
				if must(err); e.Code != 0 {
					b.Fatalf("%+v", e)
				}
			}
			must(c.Assign(b.Context(), "a"))
			turn()
			must(c.Keep(b.Context(), "built"))
			run.Reset = &built
			var bares, tests, over []time.Duration
			b.ResetTimer()
			for range b.N {
				began := time.Now()
				bare := exec.Command(program[0], program[1:]...)
				bare.Dir = bareDir
				must(bare.Run())
				ended := time.Now()
				turn()
				test := time.Since(ended)
				bares, tests = append(bares, ended.Sub(began)), append(tests, test)
				over = append(over, test-ended.Sub(began)*5/4)
			}
			b.ReportMetric(median(bares), "bare-ms")
			b.ReportMetric(median(tests), "test-ms")
			b.ReportMetric(median(over), "over-1.25-bare-ms")
		})
	}
}
