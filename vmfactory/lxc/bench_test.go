package lxc

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory/enter"
)

// make bench-vm runs TestBench with these; a plain test run leaves it out.
var (
	benchVM     = flag.Bool("bench-vm", false, "measure the making of VMs, for docs/benchmarks.md")
	benchRounds = flag.Int("rounds", 5, "turns, each of which has all variants; figures are medians over them")
	benchEach   = flag.Int("each", 40, "VMs of a variant in a turn")
	benchLive   = flag.String("live", "1,10,100,500", "how many VMs live meanwhile")
	benchQuick  = flag.Bool("expedited", false, "without the kernel's waits for readers (/sys/kernel/rcu_expedited), as with favordynmods")
	benchCycles = flag.Int("cycles", 1000, "VMs made and destroyed before the look for leaks")
)

// bench makes VMs in several ways, in turns on one machine.
type bench struct {
	*Provider
	t    *testing.T
	next atomic.Int64
}

func (b *bench) id() string { return "vm-" + strconv.FormatInt(b.next.Add(1), 10) }

// client runs true in a VM, as its one job.
func (b *bench) client(id string) {
	c, err := agent.Dial(b.traces.Path(id))
	require.NoError(b.t, err)
	defer c.Close()
	require.NoError(b.t, c.Assign(context.Background(), "work"))
	exit, err := c.Run(context.Background(), agent.Run{Args: []string{"/bin/true"}}, nil)
	require.NoError(b.t, err)
	require.Zero(b.t, exit.Code)
}

// cycle is a whole life of a VM of this provider.
func (b *bench) cycle() {
	id := b.id()
	require.NoError(b.t, b.Create(context.Background(), id, pool()))
	require.NoError(b.t, b.Prepare(context.Background(), id))
	b.client(id)
	require.NoError(b.t, b.Destroy(context.Background(), id))
}

// floor is the same life by the kernel's calls alone: namespaces, three cgroups
// with their limits, a read-only image, /proc and tmpfs, and the same agent. It
// has none of the walls inside.
func (b *bench) floor() {
	ctx, id := context.Background(), b.id()
	require.NoError(b.t, b.Create(ctx, id, pool()))
	r, err := b.traces.Read(id)
	require.NoError(b.t, err)
	d, err := b.traces.Descriptors(id, b.lifeline[0])
	require.NoError(b.t, err)
	group := b.cgroups.At("drover-floor-"+id, false)
	require.NoError(b.t, group.Make(pool().Limits, DefaultCPUs))
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: b.firstID(r.Place), Size: idsEach}}
	theirs := d.Theirs()
	file := func(i int) *os.File {
		fd, err := unix.FcntlInt(uintptr(theirs[i]), unix.F_DUPFD_CLOEXEC, 0)
		require.NoError(b.t, err)
		return os.NewFile(uintptr(fd), "theirs")
	}
	cmd := &exec.Cmd{
		Path: b.cfg.Agent, Args: []string{enter.EnterName}, Dir: "/", Env: []string{"GOMAXPROCS=1", "GOGC=off"},
		Stdin: file(0), Stdout: file(1), Stderr: file(2), ExtraFiles: []*os.File{file(3), file(4), file(5), file(6)},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
			UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true, Credential: &syscall.Credential{},
		},
	}
	require.NoError(b.t, cmd.Start())
	for _, f := range append(cmd.ExtraFiles, cmd.Stdin.(*os.File), cmd.Stdout.(*os.File), cmd.Stderr.(*os.File)) {
		require.NoError(b.t, f.Close())
	}
	require.NoError(b.t, group.Take(cmd.Process.Pid))
	config, err := b.agent(r, agent.Cgroup{}, nil)
	require.NoError(b.t, err)
	told, err := wire.DecodeConfig(config)
	require.NoError(b.t, err)
	told.Badge, told.Proc = false, false // neither is opened for it below
	config = told.Encode()
	plan := enter.Plan{Steps: b.floorSteps(id)}
	require.NoError(b.t, errors.Join(d.Config.Send(config), d.Begin.Send(plan.Encode())))
	d.Close()
	require.NoError(b.t, b.traces.NoteFirst(id, cmd.Process.Pid))
	require.NoError(b.t, b.traces.Await(ctx, id))
	b.client(id)
	require.NoError(b.t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	require.NoError(b.t, group.Remove(ctx))
	require.NoError(b.t, os.RemoveAll(b.traces.Path(id)))
	b.traces.Places.Free(id)
}

func (b *bench) floorSteps(id string) []enter.Step {
	const base = "/mnt"
	tmpfs := func(at string) enter.Step {
		return enter.Step{Do: enter.Mount, From: "tmpfs", Path: base + at, Type: "tmpfs", Bits: unix.MS_NOSUID | unix.MS_NODEV, Text: "size=64m,nr_inodes=8k,mode=1777"}
	}
	return []enter.Step{
		{Do: enter.Fds, Num: []uint64{agentFD}},
		{Do: enter.IDs, Num: []uint64{agentID, agentID}},
		{Do: enter.Mount, From: "none", Path: "/", Bits: unix.MS_REC | unix.MS_PRIVATE},
		{Do: enter.Mount, From: b.cfg.Images.(oneImage).path, Path: base, Bits: unix.MS_BIND},
		{Do: enter.Restrict, Path: base, Bits: readOnly},
		{Do: enter.Mount, From: "proc", Path: base + "/proc", Type: "proc", Bits: unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		tmpfs("/dev"), tmpfs("/tmp"), tmpfs("/home"),
		{Do: enter.Mkdir, Path: base + agent.HomeDir, Bits: 0o755},
		{Do: enter.Hostname, Text: id},
		{Do: enter.Loopback},
		{Do: enter.Chdir, Path: base},
		{Do: enter.Pivot},
		{Do: enter.Exec, Args: []string{agent.AgentName, id}, Env: agent.AgentEnv()},
	}
}

// tools is a container's life by lxc's own commands: less in it, and no agent.
func (b *bench) tools() {
	id := b.id()
	dir := filepath.Join(b.cfg.Run, ".tools")
	at := filepath.Join(dir, id) // its own: some are made at once
	require.NoError(b.t, os.MkdirAll(dir, 0o755))
	var c config
	c.set("rootfs.path", "dir:%s", b.cfg.Images.(oneImage).path)
	c.set("init.cmd", "/bin/sleep 1000")
	c.set("idmap", "u 0 %d %d", DefaultFirstID, idsEach)
	c.set("idmap", "g 0 %d %d", DefaultFirstID, idsEach)
	c.set("net.0.type", "empty")
	c.set("mount.auto", "proc")
	c.mount("tmpfs", "dev", "tmpfs", "size=64k")
	c.set("console.path", "none")
	c.set("tty.max", "0")
	c.set("autodev", "0")
	c.set("apparmor.profile", "unconfined")
	require.NoError(b.t, os.WriteFile(at, []byte(c.String()), 0o600))
	for _, args := range [][]string{
		{"lxc-start", "-n", id, "-P", "/run", "-f", at},
		{"lxc-attach", "-n", id, "-P", "/run", "-f", at, "--", "/bin/true"},
		{"lxc-stop", "-n", id, "-P", "/run", "-k"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = []string{"PATH=" + b.narrow()}
		cmd.Path, _ = exec.LookPath(args[0])
		out, err := cmd.CombinedOutput()
		require.NoError(b.t, err, "%s: %s", args, out)
	}
}

// narrow is a PATH without newuidmap, for which liblxc would want root in /etc/subuid.
func (b *bench) narrow() string { return b.cfg.Run }

// timed measures n calls, atOnce at a time.
func timed(atOnce, n int, do func()) (each []time.Duration, perSecond float64) {
	var mu sync.Mutex
	var all sync.WaitGroup
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	began := time.Now()
	for range atOnce {
		all.Go(func() {
			for range work {
				from := time.Now()
				do()
				mu.Lock()
				each = append(each, time.Since(from))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return each, float64(n) / time.Since(began).Seconds()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func quantile(all []time.Duration, q float64) float64 {
	slices.Sort(all)
	return ms(all[min(len(all)-1, int(float64(len(all))*q))])
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// TestBench prints the tables of docs/benchmarks.md.
func TestBench(t *testing.T) { //nolint:paralleltest // it measures
	if !*benchVM {
		t.Skip("a measurement: make bench-vm")
	}
	if *benchQuick {
		const setting = "/sys/kernel/rcu_expedited"
		was, err := os.ReadFile(setting)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(setting, []byte("1"), 0))
		t.Cleanup(func() { require.NoError(t, os.WriteFile(setting, was, 0)) })
	}
	b := &bench{Provider: provider(t, folder(t)), t: t}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(filepath.Join(b.cfg.Run, ".tools"))) })
	for _, warm := range []func(){b.cycle, b.floor, b.tools} {
		warm()
	}
	out := &bytes.Buffer{}
	b.lives(out)
	b.warm(out)
	b.crowd(out)
	b.leaks(out)
	_, err := io.Copy(os.Stdout, out)
	require.NoError(t, err)
}

// servers compares whole lives, in turns.
func (b *bench) lives(out io.Writer) {
	type variant struct {
		name string
		do   func()
	}
	variants := []variant{{"provider lxc", b.cycle}, {"bare namespaces and cgroups, same agent", b.floor}, {"lxc-start, lxc-attach, lxc-stop", b.tools}}
	fmt.Fprintf(out, "| create, ready, run true, destroy | p50 ms | p99 ms | × bare | VMs/s at 1 | 2 | 4 | 8 |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	each, rates, ratio := map[string][]time.Duration{}, map[string]map[int][]float64{}, map[string][]float64{}
	for range *benchRounds {
		medians := map[string]float64{}
		for _, v := range variants {
			if rates[v.name] == nil {
				rates[v.name] = map[int][]float64{}
			}
			for _, atOnce := range []int{1, 2, 4, 8} {
				times, rate := timed(atOnce, *benchEach, v.do)
				rates[v.name][atOnce] = append(rates[v.name][atOnce], rate)
				if atOnce == 1 {
					medians[v.name] = quantile(times, 0.5)
					each[v.name] = append(each[v.name], times...)
				}
			}
		}
		for _, v := range variants {
			ratio[v.name] = append(ratio[v.name], medians[v.name]/medians[variants[1].name])
		}
	}
	for _, v := range variants {
		fmt.Fprintf(out, "| %s | %.1f | %.1f | %.2f |", v.name, quantile(each[v.name], 0.5), quantile(each[v.name], 0.99), middle(ratio[v.name]))
		for _, atOnce := range []int{1, 2, 4, 8} {
			fmt.Fprintf(out, " %.0f |", middle(rates[v.name][atOnce]))
		}
		fmt.Fprintln(out)
	}
}

// warm measures from the claim of a VM that waits to its job's first output.
func (b *bench) warm(out io.Writer) {
	var first, again, spawn []time.Duration
	for range *benchEach * *benchRounds / 4 {
		id := b.id()
		require.NoError(b.t, b.Create(context.Background(), id, pool()))
		require.NoError(b.t, b.Prepare(context.Background(), id))
		began := time.Now()
		c, err := agent.Dial(b.traces.Path(id))
		require.NoError(b.t, err)
		require.NoError(b.t, c.Assign(context.Background(), "work"))
		for i := range 10 {
			if i > 0 {
				began = time.Now()
			}
			var heard time.Duration
			_, err = c.Run(context.Background(), agent.Run{Args: []string{"/bin/echo"}}, func(string, []byte) { heard = time.Since(began) })
			require.NoError(b.t, err)
			if i == 0 {
				first = append(first, heard)
			} else {
				again = append(again, heard)
			}
			began = time.Now()
			require.NoError(b.t, exec.Command("/bin/echo").Run())
			spawn = append(spawn, time.Since(began))
		}
		c.Close()
		require.NoError(b.t, b.Destroy(context.Background(), id))
	}
	fmt.Fprintf(out, "\n| warm VM | p50 ms | p99 ms | × start of a process, p50 |\n| --- | --- | --- | --- |\n")
	for _, row := range []struct {
		name string
		all  []time.Duration
	}{{"claim to first output", first}, {"a further run to first output", again}, {"start of the same program on the host", spawn}} {
		fmt.Fprintf(out, "| %s | %.2f | %.2f | %.1f |\n", row.name, quantile(row.all, 0.5), quantile(row.all, 0.99), quantile(row.all, 0.5)/quantile(spawn, 0.5))
	}
}

// crowd measures lives and memory while many VMs wait.
func (b *bench) crowd(out io.Writer) {
	fmt.Fprintf(out, "\n| live VMs | cycle p50 ms | p99 ms | PSS of agent KiB | of monitor KiB | all memory a VM KiB |\n| --- | --- | --- | --- | --- | --- |\n")
	var live []string
	free := available(b.t)
	for word := range strings.SplitSeq(*benchLive, ",") {
		want, err := strconv.Atoi(word)
		require.NoError(b.t, err)
		var mu sync.Mutex
		timed(4, want-len(live), func() {
			id := b.id()
			require.NoError(b.t, b.Create(context.Background(), id, pool()))
			require.NoError(b.t, b.Prepare(context.Background(), id))
			mu.Lock()
			defer mu.Unlock()
			live = append(live, id)
		})
		taken := (free - available(b.t)) / int64(len(live))
		times, _ := timed(1, *benchEach, b.cycle)
		who, err := b.traces.First(live[0])
		require.NoError(b.t, err)
		fmt.Fprintf(out, "| %d | %.1f | %.1f | %d | %d | %d |\n", want, quantile(times, 0.5), quantile(times, 0.99),
			pss(b.t, inside(b.t, b.Provider, live[0])), pss(b.t, who.PID), taken)
	}
	_, rate := timed(4, len(live), func() func() {
		var mu sync.Mutex
		return func() {
			mu.Lock()
			id := live[0]
			live = live[1:]
			mu.Unlock()
			require.NoError(b.t, b.Destroy(context.Background(), id))
		}
	}())
	fmt.Fprintf(out, "\nDestroyed at the end, 4 at once: %.0f VMs/s.\n", rate)
}

func available(t *testing.T) int64 {
	t.Helper()
	return field(t, "/proc/meminfo", "MemAvailable:")
}

func pss(t *testing.T, pid int) int64 {
	t.Helper()
	return field(t, fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
}

// field reads the number behind a word.
func field(t *testing.T, file, word string) int64 {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == word {
			n, err := strconv.ParseInt(f[1], 10, 64)
			require.NoError(t, err)
			return n
		}
	}
	require.Fail(t, "no "+word+" in "+file)
	return 0
}

// traces counts what VMs could leave.
func (b *bench) left() map[string]int {
	n := map[string]int{}
	for _, top := range b.cgroups.Tops() {
		entries, err := os.ReadDir(top)
		require.NoError(b.t, err)
		for _, e := range entries {
			if e.IsDir() {
				n["cgroups"]++
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(b.t, err)
	n["mounts"] = bytes.Count(mounts, []byte("\n"))
	for what, pid := range map[string]int{"descriptors of the vmfactory": os.Getpid(), "descriptors of the starter": b.starter.cmd.Process.Pid} {
		fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		require.NoError(b.t, err)
		n[what] = len(fds)
	}
	processes, err := os.ReadDir("/proc")
	require.NoError(b.t, err)
	nets := map[string]bool{}
	for _, e := range processes {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		if net, err := os.Readlink(filepath.Join("/proc", e.Name(), "ns/net")); err == nil {
			nets[net] = true
		}
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat")) // it may have gone
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 1 && f[0] == "Z" &&
			(f[1] == strconv.Itoa(os.Getpid()) || f[1] == strconv.Itoa(b.starter.cmd.Process.Pid)) {
			n["zombies"]++
		}
	}
	n["network namespaces with a process"] = len(nets)
	n["files in the run folder"] = len(entries(b.t, b.cfg.Run))
	return n
}

func entries(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(dir)
	require.NoError(t, err)
	return all
}

// leaks makes and destroys many VMs, some at once, and fails if they leave anything.
func (b *bench) leaks(out io.Writer) {
	b.cycle()
	before := b.left()
	times, rate := timed(4, *benchCycles, b.cycle)
	require.Eventually(b.t, func() bool {
		for what, n := range b.left() {
			if n > before[what] {
				return false
			}
		}
		return true
	}, soon, 10*time.Millisecond, "before: %v", before)
	fmt.Fprintf(out, "\nAfter %d lives, 4 at once (%.0f VMs/s, p50 %.1f ms): before %v, after %v.\n", *benchCycles, rate, quantile(times, 0.5), before, b.left())
}
