// Package enter is our own executable, or drover-agent, on its way into a VM. Re-executed under
// one of two names it is caught before main and before the heavy packages
// initialise:
//
//	drover-spawn   a small process that only starts others. Starting one in new
//	               namespaces copies the caller's page tables, which takes 10 ms
//	               for a caller with 200 MB of heap and 0.3 ms for this one.
//	drover-enter   the first process of a VM. It reads a plan from standard
//	               input, carries it out step by step, and ends by executing
//	               the agent in its own place.
//
// Policy is in the plan, which package local writes; here is only how. The
// package imports the standard library alone, so that it initialises early.
package enter

// The names, as argv[0], that are caught.
const (
	SpawnName = "drover-spawn"
	EnterName = "drover-enter"
)
