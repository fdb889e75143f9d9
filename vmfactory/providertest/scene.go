package providertest

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/agent"
	"drover/vmfactory"
	"drover/vmfactory/providertest/probe"
)

// Scene is a run folder with a provider on it, for suites beside this one.
type Scene struct {
	Run      string
	Provider vmfactory.Provider
}

// NewScene makes one that is cleared with the test.
func NewScene(t *testing.T, make New) Scene {
	t.Helper()
	s := newSuite(t, make)
	run := s.folder(t)
	return Scene{Run: run, Provider: s.provider(t, run)}
}

// VM is one VM of a scene.
type VM struct {
	ID string
	vm
}

// Outcome is how a run ended, with what it wrote.
type Outcome struct {
	agent.Exit
	Stdout, Stderr string
}

// Clean makes a VM that nobody uses yet, destroyed with the test.
func (s Scene) Clean(t *testing.T, pool core.Pool) VM {
	t.Helper()
	v := ready(t, s.Provider, s.Run, pool)
	return VM{v.id, v}
}

// Armed makes a VM that has an assignment and the probes, destroyed with the test.
func (s Scene) Armed(t *testing.T, pool core.Pool) VM {
	t.Helper()
	v := armed(t, s.Provider, s.Run, pool)
	return VM{v.id, v}
}

// Traces lists what the host has of a VM: processes, mounts, cgroups, files.
func (s Scene) Traces(id string) []string { return traces(s.Run, id) }

// Destroy destroys a VM before its test ends.
func (v VM) Destroy(t *testing.T) {
	t.Helper()
	require.NoError(t, v.provider.Destroy(bounded(t), v.ID))
}

// Do runs a command in the VM, under the pool's limits or these.
func (v VM) Do(t *testing.T, limits core.Limits, stdin io.Reader, args ...string) Outcome {
	t.Helper()
	o, err := v.Try(t, limits, stdin, args...)
	require.NoError(t, err)
	return o
}

// Try runs a command that the VM may not live through.
func (v VM) Try(t *testing.T, limits core.Limits, stdin io.Reader, args ...string) (Outcome, error) {
	t.Helper()
	o, err := v.try(bounded(t), limits, stdin, args...)
	return Outcome{o.Exit, o.stdout, o.stderr}, err
}

// Start runs a command as one of several runs may be.
func (v VM) Start(t *testing.T, run agent.Run) Outcome {
	t.Helper()
	o, err := v.start(bounded(t), run)
	require.NoError(t, err)
	return Outcome{o.Exit, o.stdout, o.stderr}
}

// Harness runs a script as a harness, which may run others in the VM's box.
func (v VM) Harness(t *testing.T, script string, env ...string) Outcome {
	t.Helper()
	env = append(env, "DROVER_HARNESS="+agent.HarnessDir, "DROVER_SUBMISSION="+agent.SubmissionDir, "DROVER_WORK="+agent.WorkDir)
	o, err := v.start(bounded(t), agent.Run{Args: []string{"/bin/sh", "-c", script}, Env: env, Harness: true})
	require.NoError(t, err)
	return Outcome{o.Exit, o.stdout, o.stderr}
}

// Probe runs a probe in the VM.
func (v VM) Probe(t *testing.T, name string, target probe.Target) Outcome {
	t.Helper()
	return v.Do(t, core.Limits{}, nil, v.ProbeArgs(name, target)...)
}

// ProbeArgs is the command that runs a probe in an armed VM.
func (v VM) ProbeArgs(name string, target probe.Target) []string {
	return append([]string{agent.WorkDir + "/probe"}, probe.Args(name, target)...)
}

// Alive sees that the VM's agent still does its work, alone.
func (v VM) Alive(t *testing.T) {
	t.Helper()
	alive(t, v.vm)
}

// Name returns an id that nothing else on the machine has.
func Name() string { return name() }
