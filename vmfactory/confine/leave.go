package confine

import (
	"golang.org/x/sys/unix"

	"drover/core/agent"
	"drover/vmfactory/enter"
)

// Renewing are the capabilities of every agent: it gives user code a fresh network and System V namespace. The filter
// allows them nothing else.
const Renewing = 1<<unix.CAP_SYS_ADMIN | 1<<unix.CAP_NET_ADMIN

// Kept are the capabilities of an agent with its own user: Renewing, and those for starting commands as another user,
// killing them, changing the owner of their files, and seeing which memory they share, so that its watchdog counts it
// once.
const Kept = Renewing | 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL | 1<<unix.CAP_CHOWN |
	1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_SYS_PTRACE

// Limits of the agent itself; it lowers some further for its commands. The limit of core dumps must not be 0: at 0
// the kernel still starts the host's program for dumps as the host's root, if core_pattern names one. The filters
// keep it where it is.
var limits = map[int]uint64{
	unix.RLIMIT_CORE: noDump, unix.RLIMIT_NOFILE: 4096, unix.RLIMIT_MEMLOCK: 64 << 10, unix.RLIMIT_MSGQUEUE: 0,
	unix.RLIMIT_NICE: 0, unix.RLIMIT_RTPRIO: 0, unix.RLIMIT_SIGPENDING: 512,
}

// Leave returns the steps that permanently drop what the agent does not need, and start the agent of this VM.
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
