// Package confine returns the last steps of a VM's start, the same for all providers whose VMs are namespaces of this
// kernel: what /proc shows, the limits of the agent itself, its capabilities, and the seccomp filters. Package enter
// carries the steps out.
package confine
