// Package recovery settles what a dead owner held, asking the store: the same
// code for an owner that restarts and for the overseer that reaps.
//
// Store first, Redis second. A slot of a testrunner ends by what the store knows:
//
//	in the store                      so the slot ends
//	its terminal result               done (dead, if that is the result)
//	nothing, and it was cancelled     recorded cancelled, then done
//	nothing, its host is lost and     recorded failed, then done
//	  its pool wants that
//	nothing, and too many owners      recorded dead, then dead: it may be what kills them
//	  died with it in hand
//	nothing, attempts used up         recorded dead, then dead
//	nothing                           retry: queued again, one attempt used
//	not even the request              done: nobody waits for it
//
// The asking comes after the fencing, so that a result which the dead owner
// recorded with its last breath is found; one that it records later still is
// refused by the store, or it wins and what we record is refused, and then the slot
// ends by what the store has. A taskrunner's slot ends the same way. A
// vmfactory's slots hold VMs half made or half destroyed: they end dirty.
//
// Slots of an owner that lives end by the same table if they are hung, or if their
// host is drained and its time is over; then nothing dies, and a drain uses no attempt.
//
// Reap, for each late owner, fences, lists, settles, forgets. A reaper that dies,
//
//	after               is followed up by
//	fencing             the next reaper: Late lists fenced owners until they are forgotten
//	recording           the same: recording again under the same token answers the same
//	settling some       the same: Held lists the slots that are left
//	settling all        the same: it has nothing to settle and forgets
//
// Two reapers at once record under the same token and settle by the same tokens:
// whoever comes second moves nothing. An owner that comes back meanwhile has a
// newer epoch, so the reaper is refused and lets go: already when it lists, or it
// would record how the living work of a successor ends.
package recovery
