// Package lxc makes VMs that are unprivileged LXC containers.
//
// A VM has its own range of the host's users, a read-only image that the root in
// it cannot open again, tmpfs for what it may write, and cgroups that hold its
// memory with swap, its processes and its processors, on hosts with cgroups of
// version 1, of version 2, and of both. Its first process is drover-guest, a small
// static program, which carries out the last steps inside (package confine) and
// becomes the agent.
//
// liblxc never runs in the vmfactory where it could take it down: a starter, the
// same executable under another name and with one thread (starter.c), forks a
// monitor for each container, and that is where liblxc works. The vmfactory
// believes nothing of it: it reads the limits back from the kernel, and ends VMs
// and removes their cgroups by itself, whatever became of their monitors.
//
// A VM's folder <run>/<vm> is its trace on the host, as with package local, and
// the names of its cgroups are another: what has either is listed and destroyed.
// There are no mounts on the host. VMs belong to no process.
//
// The program needs the build tag lxc and liblxc to make VMs. Without them it
// finds and destroys what another left, and Ready says what is missing.
package lxc
