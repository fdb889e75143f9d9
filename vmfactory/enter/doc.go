// Package enter starts VMs' first processes. A VM's first process carries out a plan step by step, and ends by executing
// the agent in its own place. It starts in one of two ways, both by our own executable, or drover-agent, re-executed
// under a name that is detected before main and before the heavy packages initialise:
//
//	drover-spawn   a small process that carries out a plan of its own, and then
//	               is asked for first processes. It forks them: they carry out
//	               their plans in the fork, so that the only program that a VM
//	               starts is the agent. Forking copies the page tables of the
//	               caller, which takes 10 ms for one with 200 MB of heap and
//	               0.2 ms for this one.
//	drover-enter   the first process itself, where another program made its
//	               namespaces. It reads its plan from standard input.
//
// A fork of a Go program has one thread, and no runtime that could be relied on. So a plan is compiled to system calls
// first (compile.go), and what is left to do is to make them (run.go).
//
// Policy is in the plan, which the provider writes; this package only carries it out. The package imports only the
// standard library, so that it initialises early.
package enter

// The names, as argv[0], that are detected.
const (
	SpawnName = "drover-spawn"
	EnterName = "drover-enter"
)
