// Package local makes VMs from features of every Linux: namespaces, tmpfs,
// seccomp, and cgroups if permitted. It needs no image, no daemon and no root.
//
// A VM is the process tree of one agent, alone in its user, pid, mount, network,
// ipc, uts and cgroup namespaces, on a read-only view of the host's system
// folders and fresh tmpfs. Its users are, by what the host allows:
//
//	range   root: three users of the host for each VM alone: for the agent, for
//	        user code, and for the box, where a harness runs untrusted programs
//	subid   newuidmap: the agent is drover's own user, user code and the box are
//	        two of those assigned to it in /etc/subuid
//	single  drover's own user for all; the agent protects itself, and the box is a
//	        Landlock domain
//
// Limits that cgroups cannot enforce are enforced by rlimits, the size of tmpfs,
// and the agent's watchdog; Limits and every run's report say which by what.
//
// A VM starts drover-agent (package program) if that is beside drover, else drover
// itself under another name, which does the same but is twice as large.
//
// A VM's folder <run>/<vm> is its trace on the host: its record (vm.json), its
// first process (first.json), its secret and the agent's socket and log. It is made
// first and removed last, so that every part of a VM is found by it. VMs belong to
// no process: any provider on the same run folder finds and ends them.
package local
