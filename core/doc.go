// Package core is the domain of the cluster: the words, the states, the one table of
// transitions, the errors, and the small interfaces by which the parts meet.
//
// A request (a job that needs a VM) is accepted once its row is durable in the
// result store; Redis then holds it in exactly one place until its one terminal
// result is recorded:
//
//	waiting   a submitter's queue, in turn with the other submitters of its class
//	a slot    claimed together with a VM by one owner, under a fencing token
//	parked    nothing alive can run it now
//	dead      attempts used up
//
// A VM serves one assignment in its life: creating, clean, a slot, dirty,
// destroying, gone. Whoever dies in between, the work is found in the place it
// was left in, by its owner's restart or by the overseer, through the same code.
//
// The package imports the standard library only. Adapters live below it
// (redisstore, store, blobs, agent), components beside it; components
// never import one another.
package core
