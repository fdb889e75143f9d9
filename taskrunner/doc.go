// Package taskrunner does background work that needs no VM: it claims tasks, runs the handler of their kind, records
// how they ended, and finishes them. A failed task is tried again after growing pauses, and is dead after its last
// try.
//
// A task runs at least once: if its runner dies after the work and before the record, it runs again. Handlers must
// allow for that.
package taskrunner
