// Package enter starts VMs' first processes. They are our own executable, or drover-agent, re-executed under one of
// two names, which is detected before main and before the heavy packages initialise:
//
//	drover-spawn   a small process that only starts others. Starting one in new
//	               namespaces copies the caller's page tables, which takes 10 ms
//	               for a caller with 200 MB of heap and 0.3 ms for this one.
//	drover-enter   the first process of a VM. It reads a plan from standard
//	               input, carries it out step by step, and ends by executing
//	               the agent in its own place.
//
// Policy is in the plan, which the provider writes; this package only carries it out. The package imports only the
// standard library, so that it initialises early.
package enter

// The names, as argv[0], that are detected.
const (
	SpawnName = "drover-spawn"
	EnterName = "drover-enter"
)
