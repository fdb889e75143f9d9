// Package local makes VMs out of what every Linux has: namespaces, tmpfs,
// seccomp, and cgroups where it may. It needs no image, no daemon and no root.
//
// A VM is the process tree of one agent, alone in its user, pid, mount, network,
// ipc, uts and cgroup namespaces, on a read-only view of the host's system
// folders and fresh tmpfs. Its users are, by what the host allows:
//
//	range   root: three users of the host for each VM, which nobody else has: for
//	        the agent, for user code, and for the box, where a harness runs what
//	        it does not trust
//	subid   newuidmap: the agent is the user himself, user code and the box two of
//	        those that /etc/subuid lends to him
//	single  the user himself for all; the agent guards itself, and the box is a
//	        Landlock domain
//
// What cgroups cannot hold is held by rlimits, the size of tmpfs, and the
// agent's watchdog; Limits and every run's report say what holds what.
//
// What a VM starts is drover-agent (package program) where it is beside drover,
// else drover itself under another name: the same, and twice as heavy.
//
// A VM's folder <run>/<vm> is its trace on the host: who it is (vm.json), its
// first process (first.json), its secret and the agent's socket and log. It comes
// first and goes last, so that whatever is left of a VM is found by it. VMs
// belong to no process: any provider on the same run folder finds and ends them.
package local
