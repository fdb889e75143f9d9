//go:build !race

package wire

// AgentMemory is what a VM's cgroup has beside the limit of its job, in bytes: an
// agent of at most 4 MB with the kernel's memory for its threads and connections, as
// much again for what it does during a run, and the rest for files that it stages,
// before these count like the job's own.
const AgentMemory = 16 << 20
