// Package cgroup makes the cgroups of VMs, on hosts with cgroups of version 1, of
// version 2, and of both at once, where each controller is of one or the other.
//
// A VM has a cgroup NAME for all that is in it. In there NAME/job is for user code
// alone, with the pool's own limits, so that what user code uses up is never what
// the VM's agent needs: the kernel's choice of whom to kill for want of memory does
// not reach the agent, even where nobody is left to be killed, as with shared memory
// that outlives who made it. What the agent needs on top has NAME.
//
// A run that has limits of its own, such as one test of many, is in NAME/job/own, of
// which the agent sets the limits before each such run. There is one of them at a time.
// (In version 2, where a cgroup has processes or children, the others are in NAME/job/all.)
//
// The agent sends user code there by descriptors that are opened outside of the VM
// (see Controls). In version 1 the one thread that starts commands goes there, and what
// it starts is born there. In version 2 a process is in one cgroup
// with all its threads, and the call that starts another one elsewhere (clone3) is
// one that filters cannot look into; so the agent goes there and back, around each start.
package cgroup
