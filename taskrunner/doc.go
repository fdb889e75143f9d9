// Package taskrunner does background work that needs no VM: it claims tasks, runs
// the handler of their kind, records how they ended, and finishes them. A task
// that fails is tried again, later each time, and ends dead after its last try.
//
// A task runs at least once: if its runner dies between the end of the work and
// its record, it runs again. Handlers must bear that.
package taskrunner
