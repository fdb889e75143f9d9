// Package cgroup makes the cgroups of VMs, on hosts with cgroups of version 1, of version 2, and of both at once,
// where each controller belongs to one version.
//
// A VM has a cgroup NAME for all its processes. In it, NAME/job is for user code only, with the pool's own limits, so
// that user code never uses up what the VM's agent needs. The kernel's choice of what to kill when memory runs out
// does not reach the agent, even if there is nothing left to kill, as with shared memory that outlives its creator.
// The additional resources for the agent are in NAME.
//
// A run with limits of its own, such as one test of many, is in NAME/job/own, whose limits the agent sets before each
// such run. There is one of them at a time. (In version 2 a cgroup has either processes or children, so the other
// runs are in NAME/job/all.)
//
// The agent moves user code there by descriptors that are opened outside of the VM (see Controls). In version 1 the
// thread that starts commands moves there, and its children start there. In version 2 a process is in one cgroup with
// all its threads, and seccomp filters cannot inspect the call that starts a child in another one (clone3); so the
// agent moves there and back around each start.
package cgroup
