// Package core is the domain of the cluster: its types, the states, the one table of transitions, the errors, and the
// small interfaces between the components.
//
// A request (a job that needs a VM) is accepted once its row is durable in the result store. Redis then holds it in
// exactly one place until its one terminal result is recorded:
//
//	waiting   a submitter's queue, in turn with the other submitters of its priority
//	a slot    claimed together with a VM by one owner, under a fencing token
//	parked    no living host can run it now
//	dead      attempts used up
//
// A VM serves one assignment in its life: creating, clean, a slot, dirty, destroying, gone. If a process dies at any
// point, its work stays in the place where it was. The restarted owner or the overseer finds it there and settles it
// by the same code.
//
// The package imports the standard library only. Adapters live below it (redisstore, store, blobs, agent), components
// beside it; components never import one another.
package core
