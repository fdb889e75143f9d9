// Package lxc makes VMs that are unprivileged LXC containers.
//
// A VM has its own range of the host's users, a read-only image that the root in
// it cannot make writable, tmpfs for what it may write, and cgroups that hold its
// memory with swap, its processes and its processors, on hosts with cgroups of
// version 1, of version 2, and of both. Its first process is drover-agent, a small
// static program, which carries out the last steps inside (package confine) and
// becomes the agent.
//
// liblxc never runs in the vmfactory, which it could crash: a starter, the same
// executable under another name and with one thread (starter.c), forks a monitor
// for each container, and liblxc runs there. The vmfactory does not rely on it: it
// sets the limits itself and reads them back from the kernel, and it ends VMs and
// removes their cgroups in whatever state their monitors are.
//
// A VM's trace on the host is its folder <run>/<vm>, as with package local, and the
// names of its cgroups: a VM with either is listed and destroyed. There are no
// mounts on the host. VMs belong to no process.
//
// A vmfactory may be killed at every step. What it leaves, and who ends it; each
// row is one of TestMakerIsKilled:
//
//	killed after  it leaves                           found and ended as
//	making        a folder of no VM                   swept, a minute later
//	created       the VM's folder                     a VM that was never started
//	told          and its config                      the same
//	forked        and a monitor that nobody noted,    the same; the container gets no plan,
//	              which starts the container          so it ends, and its monitor with it
//	noted         and the note of the monitor         a VM that is dead; its monitor is killed
//	half sent     and half of what it is told         the same
//	sent          a VM that becomes ready by itself   unused, if it is healthy
//	ready         a VM whose limits nobody read back  unused, once they are read back
//	killed        a dead VM with its cgroups          a VM that is dead
//	ended         a dead VM's folder                  the same
//	unnamed       a folder of no VM                   swept, a minute later
//
// What liblxc and the kernel do for a monitor that hangs before it has a cgroup,
// in the moment of "forked", nobody sees: it is not found, and waits for a person.
//
// The program needs the build tag lxc and liblxc to make VMs. Without them it
// finds and destroys what another left, and Ready says what is missing.
package lxc
