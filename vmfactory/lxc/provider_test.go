package lxc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/coretest/tier"
	"drover/vmfactory"
	"drover/vmfactory/process"
	"drover/vmfactory/providertest"
	"drover/vmfactory/providertest/programs"
	"drover/vmfactory/trace"
)

// soon bounds what must happen and needs a moment.
const soon = 5 * time.Minute

// folder returns a run folder that is empty when the test ends.
func folder(t *testing.T) string {
	t.Helper()
	run := providertest.Folder(t, newLXC)
	t.Cleanup(func() {
		left, err := os.ReadDir(run)
		require.NoError(t, err)
		assert.Empty(t, left)
	})
	return run
}

func provider(t *testing.T, run string) *Provider {
	t.Helper()
	p := newLXC(t, run).(imaged).Provider
	t.Cleanup(func() {
		require.NoError(t, p.Close())
		assert.Empty(t, p.cgroups.found(p.tag), "no cgroup is left")
	})
	return p
}

func pool() core.Pool { return named(core.DefaultPool("p")) }

// started makes a VM that is destroyed with the test.
func started(t *testing.T, p *Provider, id string, pool core.Pool) process.Process {
	t.Helper()
	require.NoError(t, p.Create(t.Context(), id, pool))
	t.Cleanup(func() { require.NoError(t, p.Destroy(context.WithoutCancel(t.Context()), id)) }) // by then the context has ended
	require.NoError(t, p.Prepare(t.Context(), id))
	who, err := p.traces.First(id)
	require.NoError(t, err)
	return who
}

// inside returns the host's pid of the VM's agent.
func inside(t *testing.T, p *Provider, id string) int {
	t.Helper()
	folders, _ := p.cgroups.of(p.tag, id).Usage("")
	text, err := os.ReadFile(filepath.Join(folders[0], initName, "cgroup.procs"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	return pid
}

func TestMonitorIsKilled(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	who := started(t, p, "vm", pool())
	agent, err := process.Identify(inside(t, p, "vm"))
	require.NoError(t, err)
	require.NoError(t, who.Kill(t.Context()))
	assert.True(t, core.Is(p.Check(t.Context(), "vm"), core.CodeBadVM))
	require.Eventually(t, func() bool { alive, err := agent.Alive(); return err == nil && !alive }, soon, time.Millisecond,
		"what is in the container ends with its monitor")
	assert.NotEmpty(t, p.cgroups.found(p.tag), "a killed monitor removes nothing")
	require.NoError(t, p.Destroy(t.Context(), "vm"))
	assert.Empty(t, p.cgroups.found(p.tag))
}

func TestStarterIsKilled(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	started(t, p, "first", pool())
	require.NoError(t, p.starter.cmd.Process.Kill())
	state, err := p.starter.cmd.Process.Wait()
	require.NoError(t, err)
	require.False(t, state.Success())
	require.NoError(t, p.Check(t.Context(), "first"), "containers belong to nobody")
	started(t, p, "second", pool())
}

// TestStarterHangs shows that a starter which says nothing costs one VM.
func TestStarterHangs(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	p.starter.silent = 100 * time.Millisecond
	started(t, p, "first", pool())
	require.NoError(t, p.starter.cmd.Process.Signal(syscall.SIGSTOP))
	require.NoError(t, p.Create(t.Context(), "second", pool()))
	err := p.Prepare(t.Context(), "second")
	assert.True(t, core.Is(err, core.CodeBadVM), "%v", err)
	require.NoError(t, p.Destroy(t.Context(), "second"))
	require.NoError(t, p.Check(t.Context(), "first"))
	p.starter.silent = 0
	started(t, p, "third", pool())
}

// TestMonitorHangs stops a monitor in the midst of liblxc's work.
func TestMonitorHangs(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	ctx, give := context.WithCancel(t.Context())
	p.traces.Step = func(name string) {
		if name != "noted" {
			return
		}
		who, err := p.traces.First("vm")
		assert.NoError(t, err)
		assert.NoError(t, syscall.Kill(who.PID, syscall.SIGSTOP))
		give()
	}
	require.NoError(t, p.Create(t.Context(), "vm", pool()))
	err := p.Prepare(ctx, "vm")
	assert.True(t, core.Is(err, core.CodeBadVM), "%v", err)
	require.NoError(t, p.Destroy(t.Context(), "vm"))
}

// The environment that makes a copy of the test one that dies at a step.
const (
	dieRun  = "DROVER_LXC_TEST_RUN"
	dieStep = "DROVER_LXC_TEST_STEP"
)

// TestMakerIsKilled kills the vmfactory's process at every step of a VM's life.
// What it leaves is found, ended and removed by the next.
func TestMakerIsKilled(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	if run := os.Getenv(dieRun); run != "" {
		p := newLXC(t, run).(imaged).Provider
		p.traces.Step = func(name string) {
			if name == os.Getenv(dieStep) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // does not return
			}
		}
		require.NoError(t, p.Create(t.Context(), "vm", pool()))
		p.traces.Reached("created")
		require.NoError(t, p.Prepare(t.Context(), "vm"))
		require.NoError(t, p.Destroy(t.Context(), "vm"))
		return
	}
	t.Parallel()
	for _, row := range killed {
		t.Run(row.after, func(t *testing.T) {
			t.Parallel()
			run := folder(t)
			p := provider(t, run)
			if row.after == "making" {
				require.NoError(t, os.Mkdir(filepath.Join(run, trace.MakingPrefix+"vm-1"), 0o700))
			} else {
				die(t, run, row.after)
			}
			all, err := p.List(t.Context())
			require.NoError(t, err)
			if row.vm {
				require.Len(t, all, 1)
				assert.Equal(t, "vm", all[0].ID)
				assert.Equal(t, !row.unused, all[0].Used)
			} else {
				require.Empty(t, all)
			}
			require.NoError(t, p.Destroy(t.Context(), "vm"))
			left, err := os.ReadDir(run)
			require.NoError(t, err)
			for _, e := range left {
				require.False(t, row.vm, "%s is left", e.Name())
				long := time.Now().Add(-2 * time.Minute)
				require.NoError(t, os.Chtimes(filepath.Join(run, e.Name()), long, long))
			}
			// A monitor that nobody noted may still be at it: it finds nobody there and gives up.
			require.Eventually(t, func() bool {
				all, err := p.List(t.Context())
				for _, one := range all {
					err = errors.Join(err, p.Destroy(t.Context(), one.ID))
				}
				return err == nil && len(all) == 0 && len(running(payload(p.tag, "vm"))) == 0 && len(p.cgroups.found(p.tag)) == 0
			}, soon, 10*time.Millisecond)
		})
	}
}

// killed are the rows of the table in the package's doc.
var killed = []struct {
	after  string
	vm     bool // it leaves a VM
	unused bool // as good as any
}{
	{"making", false, false},
	{"created", true, false},
	{"told", true, false},
	{"forked", true, false},
	{"noted", true, false},
	{"half sent", true, false},
	{"sent", true, true},
	{"ready", true, true},
	{"killed", true, false},
	{"ended", true, false},
	{"unnamed", false, false},
}

func TestTableOfKills(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var want, got []string
	for _, row := range killed {
		want = append(want, row.after)
	}
	for _, found := range regexp.MustCompile(`(?m)^//\t(\w+(?: \w+)?) {2,}`).FindAllStringSubmatch(string(doc), -1) {
		got = append(got, found[1])
	}
	assert.Equal(t, append([]string{"killed after"}, want...), got)
}

// die runs a VM's life in a process that kills itself at a step.
func die(t *testing.T, run, step string) {
	t.Helper()
	maker := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestMakerIsKilled$")
	maker.Args[0] = os.Args[0]
	maker.Env = append(os.Environ(), dieRun+"="+run, dieStep+"="+step)
	out, err := maker.CombinedOutput()
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended, "%s", out)
	require.Equal(t, syscall.SIGKILL, ended.Sys().(syscall.WaitStatus).Signal(), "%s", out)
}

// TestCutNotes shows that a VM can be destroyed whose files were cut when the
// machine lost its power.
func TestCutNotes(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	for _, file := range []string{trace.FirstFile, trace.RecordFile} {
		started(t, p, "vm", pool())
		require.NoError(t, os.Truncate(filepath.Join(p.traces.Path("vm"), file), 0))
		all, err := p.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1, file)
		assert.True(t, all[0].Used, file)
		require.NoError(t, p.Destroy(t.Context(), "vm"), file)
		assert.Empty(t, p.cgroups.found(p.tag), file)
	}
}

// running lists processes that have a cgroup of this name.
func running(cgroup string) []string {
	entries, _ := os.ReadDir("/proc") // without it the suite has failed before
	var all []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cgroup"))
		if err == nil && strings.Contains(string(text), cgroup) {
			all = append(all, e.Name())
		}
	}
	return all
}

// TestStrays shows that cgroups without a VM are VMs to List, and go.
func TestStrays(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	run := folder(t)
	p := provider(t, run)
	for _, name := range []string{payload(p.tag, "lost"), monitor(p.tag, "half")} {
		require.NoError(t, os.Mkdir(filepath.Join(p.cgroups.Tops()[0], name), 0o755))
	}
	require.NoError(t, os.Mkdir(filepath.Join(p.cgroups.Tops()[0], payload(p.tag, "lost"), "below"), 0o755))
	sleeper := exec.CommandContext(t.Context(), "/bin/sleep", "1000")
	require.NoError(t, sleeper.Start())
	require.NoError(t, os.WriteFile(filepath.Join(p.cgroups.Tops()[0], payload(p.tag, "lost"), "below", "cgroup.procs"),
		[]byte(strconv.Itoa(sleeper.Process.Pid)), 0))
	all, err := p.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	for _, one := range all {
		assert.True(t, one.Used)
		assert.Empty(t, one.Pool)
	}
	require.NoError(t, p.Destroy(t.Context(), "half"))
	assert.Equal(t, []string{"lost"}, p.cgroups.found(p.tag))
	next := provider(t, run)
	assert.Empty(t, next.cgroups.found(p.tag), "a new provider sweeps them")
	require.Error(t, sleeper.Wait(), "with what is in them")
}

func TestFolderIsRemoved(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	p.anchor = time.Millisecond
	who := started(t, p, "vm", pool())
	require.NoError(t, os.RemoveAll(p.traces.Path("vm")))
	require.Eventually(t, func() bool { alive, err := who.Alive(); return err == nil && !alive }, soon, time.Millisecond)
	assert.Equal(t, []string{"vm"}, p.cgroups.found(p.tag), "the cgroups tell what is left of it")
	all, err := p.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []vmfactory.Instance{{ID: "vm", Used: true}}, all)
}

func TestTiedToProcess(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	run := folder(t)
	provider(t, run) // or skip
	p, err := New(Config{Run: run, Images: oneImage{image(t)}, Agent: programs.Agent(t), TieToProcess: true})
	require.NoError(t, err)
	require.NoError(t, p.Create(t.Context(), "vm", pool()))
	require.NoError(t, p.Prepare(t.Context(), "vm"))
	who, err := p.traces.First("vm")
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Eventually(t, func() bool { alive, err := who.Alive(); return err == nil && !alive }, soon, time.Millisecond)
	require.NoError(t, p.Destroy(t.Context(), "vm"))
}

// TestLimitsAreReadBack looks at a VM's cgroups as the kernel has them.
func TestLimitsAreReadBack(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	want := pool()
	want.Limits.CPU, want.Limits.Memory, want.Limits.Pids = 500, 64<<20, 20
	started(t, p, "vm", want)
	r, err := p.traces.Read("vm")
	require.NoError(t, err)
	require.NoError(t, p.limited(r))
	for name, change := range map[string]func(*core.Limits){
		"memory": func(l *core.Limits) { l.Memory /= 2 }, "pids.max": func(l *core.Limits) { l.Pids-- }, "cpu": func(l *core.Limits) { l.CPU = 100 },
	} {
		less := r
		change(&less.Pool.Limits)
		require.ErrorContains(t, p.limited(less), "limit "+name, "more than was asked for")
	}
	r.VM = "nobody"
	require.Error(t, p.limited(r))
}

// TestLimitsAreLookedAfter shows that a VM whose limits are not in force is never
// given out, whichever process started it.
func TestLimitsAreLookedAfter(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	run := folder(t)
	p, next := provider(t, run), provider(t, run)
	started(t, p, "vm", pool())
	require.NoError(t, next.Check(t.Context(), "vm"))
	folders, _ := p.cgroups.of(p.tag, "vm").Usage("")
	at := filepath.Join(folders[slices.IndexFunc(folders, func(f string) bool { _, err := os.Stat(filepath.Join(f, "pids.max")); return err == nil })], "pids.max")
	require.NoError(t, os.WriteFile(at, []byte("max"), 0))
	assert.True(t, core.Is(next.Check(t.Context(), "vm"), core.CodeBadVM))
	all, err := next.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.True(t, all[0].Used)
}

// TestImageStaysClosed tries, as root of the container with all its capabilities
// and without its filters, to write to the image.
func TestImageStaysClosed(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	_, err := exec.LookPath("nsenter")
	providertest.Need(t, err == nil, "nsenter")
	started(t, p, "vm", pool())
	pid := strconv.Itoa(inside(t, p, "vm"))
	as := func(command ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "nsenter",
			append([]string{"-t", pid, "-U", "-m", "-S", "0", "-G", "0", "--"}, command...)...).CombinedOutput()
		return string(out), err
	}
	out, err := as("sh", "-c", "id -u; mount -t tmpfs t /mnt && umount /mnt && echo can")
	require.NoError(t, err, out)
	require.Equal(t, "0\ncan\n", out, "the root of the container may mount")
	for _, try := range [][]string{
		{"mount", "-o", "remount,rw,bind", "/"},
		{"mount", "-o", "remount,rw", "/"},
		{"umount", "/"},
		{"touch", "/etc/x"},
		{"sh", "-c", "mount --bind / /mnt && mount -o remount,rw,bind /mnt && touch /mnt/etc/x"},
		{"chmod", "666", "/etc/passwd"},
	} {
		out, err := as(try...)
		require.Error(t, err, "%s: %s", try, out)
	}
	assert.NoFileExists(t, filepath.Join(image(t), "etc", "x"))
}

// TestNothingOnTheHost looks for mounts and processes that making VMs leaves.
func TestNothingOnTheHost(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	run := folder(t)
	p := provider(t, run)
	started(t, p, "vm", pool())
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for _, word := range []string{run, image(t), imageAt} {
		assert.NotContains(t, string(mounts), word)
	}
}

// TestAgentSeesUsage runs something and looks at what its cgroups told.
func TestAgentSeesUsage(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	p := provider(t, folder(t))
	started(t, p, "vm", pool())
	c, err := agent.Dial(p.traces.Path("vm"))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Assign(t.Context(), "work"))
	exit, err := c.Run(t.Context(), agent.Run{Args: []string{"sh", "-c", "dd if=/dev/zero of=/tmp/x bs=1M count=32 2>/dev/null"}}, nil)
	require.NoError(t, err)
	require.Zero(t, exit.Code)
	assert.Greater(t, exit.MemoryPeakBytes, int64(32<<20), "files are on tmpfs and count")
	exit, err = c.Run(t.Context(), agent.Run{Args: []string{"sh", "-c", "cat /run/cgroup/0/memory.limit_in_bytes"}}, nil)
	require.NoError(t, err)
	assert.NotZero(t, exit.Code, "user code does not see it")
}

func TestIDsOfVMsDiffer(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	run := folder(t)
	provider(t, run) // or skip
	p, err := New(Config{Run: run, Images: oneImage{image(t)}, Agent: programs.Agent(t), FirstID: DefaultFirstID, IDs: 3 * idsEach})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	firsts := map[int]bool{}
	for i := range 3 {
		id := fmt.Sprintf("vm-%d", i)
		started(t, p, id, pool())
		f, err := os.Open(fmt.Sprintf("/proc/%d/uid_map", inside(t, p, id)))
		require.NoError(t, err)
		var in, out, count int
		line, err := bufio.NewReader(f).ReadString('\n')
		require.NoError(t, errors.Join(err, f.Close()))
		_, err = fmt.Sscan(line, &in, &out, &count)
		require.NoError(t, err)
		assert.Equal(t, idsEach, count)
		assert.GreaterOrEqual(t, out, DefaultFirstID)
		assert.False(t, firsts[out], "its users are its own")
		firsts[out] = true
	}
	err = p.Create(t.Context(), "more", pool())
	assert.True(t, core.Is(err, core.CodeFull), "%v", err)
}

// TestIDsOfRunFoldersDiffer has two vmfactories of one host that know nothing of
// one another.
func TestIDsOfRunFoldersDiffer(t *testing.T) {
	tier.OnlyInAll(t, tier.LXC)
	t.Parallel()
	provider(t, folder(t))                                // or skip
	const first = DefaultFirstID + DefaultIDs - 4*idsEach // where no other test looks first
	next := func(from, ids int) *Provider {
		p, err := New(Config{Run: folder(t), Images: oneImage{image(t)}, Agent: programs.Agent(t), FirstID: from, IDs: ids})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		return p
	}
	started(t, next(first, idsEach), "vm", pool())
	for _, from := range []int{first, first - 5, first + 5} {
		err := next(from, idsEach).Create(t.Context(), "vm", pool())
		assert.True(t, core.Is(err, core.CodeFull), "%d: %v", from, err)
	}
	started(t, next(first, 2*idsEach), "vm", pool())
}
