package providertest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
	"drover/vmfactory"
)

// life is what becomes of VMs that nobody attacks.
func (s suite) life(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"says what it is": s.says, "clean to gone": s.cleanToGone, "half made": s.halfMade, "refusals": s.refusals,
		"one assignment": s.oneAssignment, "many at once": s.manyAtOnce, "another takes over": s.takeOver, "its maker is killed": s.makerKilled,
		"runs a job": s.runsJob,
	} {
		t.Run(name, test)
	}
}

func (s suite) says(t *testing.T) {
	t.Parallel()
	p := s.provider(t, s.folder(t))
	require.NoError(t, p.Ready(bounded(t)))
	assert.True(t, core.ValidName(p.Name()), p.Name())
	image, err := p.Image(bounded(t), Pool())
	require.NoError(t, err)
	assert.NotEmpty(t, image)
	names := map[string]bool{}
	for _, l := range p.Limits() {
		names[l.Name] = true
		assert.True(t, l.HeldBy != "" && !l.Weak || l.Note != "", "what does not hold %s needs a note", l.Name)
		assert.Equal(t, l.HeldBy == wire.HeldByWatchdog, l.Weak, "a watchdog can be outrun: %s", l.Name)
	}
	for _, name := range []string{
		"memory", "pids", "cpu", "disk", "file size", "open files", "time", "output", "network", "processes left behind", "reach of submissions", "messages by caches",
	} {
		assert.True(t, names[name], "nothing is said of limit %s", name)
	}
}

// instance is what List says of a VM.
func instance(t *testing.T, p vmfactory.Provider, id string) (vmfactory.Instance, bool) {
	t.Helper()
	all, err := p.List(bounded(t))
	require.NoError(t, err)
	for _, one := range all {
		if one.ID == id {
			return one, true
		}
	}
	return vmfactory.Instance{}, false
}

func (s suite) cleanToGone(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	v := ready(t, p, run, Pool())
	require.NoError(t, p.Check(bounded(t), v.id))
	one, there := instance(t, p, v.id)
	require.True(t, there)
	assert.Equal(t, vmfactory.Instance{ID: v.id, Pool: Pool().Name, Kind: one.Kind, Used: false}, one)
	assert.Equal(t, Pool().Kind().Limits, one.Kind.Limits)
	require.NoError(t, p.Destroy(bounded(t), v.id))
	_, there = instance(t, p, v.id)
	assert.False(t, there)
	assert.True(t, core.Is(p.Check(bounded(t), v.id), core.CodeBadVM))
	require.NoError(t, p.Destroy(bounded(t), v.id), "again")
}

func (s suite) halfMade(t *testing.T) {
	t.Parallel()
	run, id := s.folder(t), name()
	p := s.provider(t, run)
	require.NoError(t, p.Create(bounded(t), id, Pool()))
	other := s.provider(t, run)
	one, there := instance(t, other, id)
	require.True(t, there, "another provider on the folder finds it")
	assert.Equal(t, vmfactory.Instance{ID: id, Pool: Pool().Name, Kind: one.Kind, Used: true}, one)
	assert.Equal(t, Pool().Kind().Limits, one.Kind.Limits)
	assert.True(t, core.Is(other.Check(bounded(t), id), core.CodeBadVM))
	require.NoError(t, other.Destroy(bounded(t), id))
	_, there = instance(t, p, id)
	assert.False(t, there)
}

func (s suite) refusals(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	for _, id := range []string{"", "..", "../x", "a/b", "A", "x\n", strings.Repeat("x", core.MaxNameLen+1)} {
		assert.True(t, core.Is(p.Create(bounded(t), id, Pool()), core.CodeInvalid), "create %q", id)
		assert.True(t, core.Is(p.Destroy(bounded(t), id), core.CodeInvalid), "destroy %q", id)
		require.Error(t, p.Prepare(bounded(t), id), "prepare %q", id)
		require.Error(t, p.Check(bounded(t), id), "check %q", id)
	}
	require.NoError(t, p.Destroy(bounded(t), name()), "what is not there")
	assert.True(t, core.Is(p.Prepare(bounded(t), name()), core.CodeNotFound))
	bad := Pool()
	bad.Limits.Memory = 0
	assert.True(t, core.Is(p.Create(bounded(t), name(), bad), core.CodeInvalid))
	v := ready(t, p, run, Pool())
	assert.True(t, core.Is(p.Create(bounded(t), v.id, Pool()), core.CodeConflict))
	assert.True(t, core.Is(p.Prepare(bounded(t), v.id), core.CodeConflict))
	require.NoError(t, p.Check(bounded(t), v.id), "refused calls change nothing")
	over, cancel := context.WithCancel(context.Background())
	cancel()
	id := name()
	require.NoError(t, p.Create(bounded(t), id, Pool()))
	require.Error(t, p.Prepare(over, id), "its caller gave up")
	require.NoError(t, p.Destroy(bounded(t), id))
}

func (s suite) oneAssignment(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	p := s.provider(t, run)
	v := ready(t, p, run, Pool())
	require.NoError(t, v.Assign(bounded(t), "first"))
	require.NoError(t, v.Assign(bounded(t), "first"), "the same again")
	assert.True(t, core.Is(v.Assign(bounded(t), "second"), core.CodeConflict))
	assert.True(t, core.Is(p.Check(bounded(t), v.id), core.CodeBadVM))
	one, _ := instance(t, p, v.id)
	assert.True(t, one.Used)
}

func (s suite) manyAtOnce(t *testing.T) {
	t.Parallel()
	const many = 8
	run := s.folder(t)
	p := s.provider(t, run)
	var all sync.WaitGroup
	ids := make([]string, many)
	for i := range ids {
		ids[i] = name()
		all.Go(func() {
			assert.NoError(t, p.Create(bounded(t), ids[i], Pool()))
			assert.NoError(t, p.Prepare(bounded(t), ids[i]))
			assert.NoError(t, p.Check(bounded(t), ids[i]))
		})
	}
	all.Wait()
	found, err := p.List(bounded(t))
	require.NoError(t, err)
	assert.Len(t, found, many)
	for _, id := range ids {
		all.Go(func() { assert.NoError(t, p.Destroy(bounded(t), id)) })
	}
	all.Wait()
	found, err = p.List(bounded(t))
	require.NoError(t, err)
	assert.Empty(t, found)
}

func (s suite) takeOver(t *testing.T) {
	t.Parallel()
	run, clean, used := s.folder(t), name(), name()
	p := s.make(t, run)
	for _, id := range []string{clean, used} {
		require.NoError(t, p.Create(bounded(t), id, Pool()))
		require.NoError(t, p.Prepare(bounded(t), id))
	}
	assign(t, run, used)
	require.NoError(t, p.Close())
	s.adopt(t, run, clean, used)
}

func assign(t *testing.T, run, id string) {
	t.Helper()
	c, err := agent.Dial(filepath.Join(run, id))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Assign(bounded(t), "work"))
}

// adopt finds two VMs of a provider that is gone, uses the clean one, and ends both.
func (s suite) adopt(t *testing.T, run, clean, used string) {
	t.Helper()
	p := s.provider(t, run)
	one, there := instance(t, p, clean)
	require.True(t, there)
	assert.False(t, one.Used)
	require.NoError(t, p.Check(bounded(t), clean))
	one, there = instance(t, p, used)
	require.True(t, there)
	assert.True(t, one.Used)
	c, err := agent.Dial(filepath.Join(run, clean))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Assign(bounded(t), "work"))
	o := vm{clean, run, p, c}.shell(t, "echo still here")
	assert.Equal(t, "still here\n", o.stdout, "%s", o)
	for _, id := range []string{clean, used} {
		require.NoError(t, p.Destroy(bounded(t), id))
	}
	all, err := p.List(bounded(t))
	require.NoError(t, err)
	assert.Empty(t, all)
}

// The environment that makes a copy of the test the maker of two VMs.
const (
	childRun = "DROVER_PROVIDERTEST_RUN"
	childIDs = "DROVER_PROVIDERTEST_VMS"

	ownFolder = "own" // as childRun: the child makes a folder of its own
	madeIn    = "made in "
)

func (s suite) isChild() bool { return os.Getenv(childRun) != "" }

// child makes VMs, says in which folder, and waits to be killed.
func (s suite) child(t *testing.T) {
	t.Helper()
	run := os.Getenv(childRun)
	if run == ownFolder {
		run = s.folder(t)
	}
	p := s.make(t, run)
	for id := range strings.FieldsSeq(os.Getenv(childIDs)) {
		require.NoError(t, p.Create(bounded(t), id, Pool()))
		require.NoError(t, p.Prepare(bounded(t), id))
	}
	_, err := os.Stdout.WriteString("\n" + madeIn + run + "\n")
	require.NoError(t, err)
	select {}
}

// killMaker has another process make VMs in a run folder, kills it, and returns
// the folder.
func (s suite) killMaker(t *testing.T, run string, ids ...string) string {
	t.Helper()
	maker := exec.CommandContext(bounded(t), "/proc/self/exe", "-test.run=^"+s.top+"$", "-test.v")
	maker.Args[0] = os.Args[0]
	maker.Env = append(os.Environ(), childRun+"="+run, childIDs+"="+strings.Join(ids, " "))
	maker.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := maker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, maker.Start())
	said, made := []string{}, false
	for lines := bufio.NewScanner(out); !made && lines.Scan(); {
		said = append(said, lines.Text())
		run, made = strings.CutPrefix(lines.Text(), madeIn)
	}
	// All of its process group, so that no helper of the provider tells the tale.
	require.NoError(t, syscall.Kill(-maker.Process.Pid, syscall.SIGKILL))
	_ = maker.Wait() // killed
	require.True(t, made, "the maker said: %s", strings.Join(said, "\n"))
	return run
}

func (s suite) makerKilled(t *testing.T) {
	t.Parallel()
	run, clean, used := s.folder(t), name(), name()
	s.killMaker(t, run, clean, used)
	assign(t, run, used)
	s.adopt(t, run, clean, used)
}

func (s suite) runsJob(t *testing.T) {
	t.Parallel()
	run := s.folder(t)
	v := ready(t, s.provider(t, run), run, Pool())
	require.NoError(t, v.Assign(bounded(t), "work"))
	o, err := v.try(bounded(t), core.Limits{}, strings.NewReader("in"), "/bin/sh", "-c",
		`cat; echo " $(pwd) $(whoami) $HOME"; echo e >&2; for d in /tmp /dev/shm /home/job/work; do echo x > $d/x && cat $d/x; done; exit 3`)
	require.NoError(t, err)
	assert.Equal(t, "in "+agent.WorkDir+" job "+agent.HomeDir+"\nx\nx\nx\n", o.stdout, "%s", o)
	assert.Equal(t, "e\n", o.stderr)
	assert.Equal(t, 3, o.Code)
	assert.NotEmpty(t, o.HeldBy[core.LimitMemory])
	assert.NotEmpty(t, o.HeldBy[core.LimitPids])
}
