// Package confine is the last stretch of a VM's way to its agent, the same for
// all providers whose VMs are namespaces of this kernel: what /proc shows, the
// limits of the agent itself, its capabilities, and the seccomp filters. It is
// told as steps, which package enter carries out.
package confine
