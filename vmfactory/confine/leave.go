package confine

import (
	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/vmfactory/enter"
)

// Renewing are the capabilities of every agent: to give user code a network and System
// V objects that nobody has used. The filter lets them serve nothing else.
const Renewing = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN

// Kept are the capabilities of an agent that has a user of its own: the same, and to
// start commands as another user, to end them, to give files to them and take them
// away, and to see which memory they share, so that its watchdog counts it once.
const Kept = Renewing | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL | 1<<unix.CAP_CHOWN |
	1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_SYS_PTRACE

// Limits of the agent itself; it lowers some further for its commands. That of core
// dumps is the one that the kernel takes for none at all: at 0 it still starts the
// host's program for them as the host's root, if core_pattern names one. The filters
// keep it there.
var limits = map[int]uint64{
	unix.RLIMIT_CORE: noDump, unix.RLIMIT_NOFILE: 4096, unix.RLIMIT_MEMLOCK: 64 << 10, unix.RLIMIT_MSGQUEUE: 0,
	unix.RLIMIT_NICE: 0, unix.RLIMIT_RTPRIO: 0, unix.RLIMIT_SIGPENDING: 512,
}

// Leave tells how to give up for good what the agent does not need, and to become
// the agent of this VM.
func Leave(vm string, s Situation) ([]enter.Step, error) {
	var all []enter.Step
	for resource, most := range limits {
		all = append(all, enter.Step{Do: enter.Rlimit, Num: []uint64{uint64(resource), most}}) //nolint:gosec // a small number
	}
	keep := uint64(Kept)
	if s.OneUser {
		keep = Renewing
	}
	all = append(all, enter.Step{Do: enter.Nobody, Bits: keep, Deep: s.OneUser})
	filter, err := Filter(s)
	if err != nil {
		return nil, err
	}
	all = append(all, enter.Step{Do: enter.Seccomp, Num: []uint64{unix.SYS_SECCOMP}, Raw: filter})
	return append(all, enter.Step{Do: enter.Exec, Args: []string{agent.AgentName, vm}, Env: agent.AgentEnv()}), nil
}
