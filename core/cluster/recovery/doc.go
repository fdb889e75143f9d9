// Package recovery settles what a lost owner held, asking the store: the same
// code for an owner that restarts, for its neighbours, and for the overseer.
//
// Store first, Redis second. A slot of a testrunner ends by what the store knows:
//
//	in the store                      so the slot ends
//	its terminal result               done (dead, if that is the result)
//	nothing, and it was cancelled     recorded cancelled, then done
//	nothing, its host is lost and     recorded failed, then done
//	  its pool wants that
//	nothing, and too many deaths      recorded dead, then dead: it may be what kills
//	  count against it
//	nothing                           retry: queued again, one attempt used
//	not even the request              done: nobody waits for it
//
// The asking comes after the fencing, so that a result which the lost owner
// recorded with its last breath is found; one that it records later still is
// refused by the store, or it wins and what we record is refused, and then the slot
// ends by what the store has. A taskrunner's slot ends the same way. A
// vmfactory's slots hold VMs half made or half destroyed: they end dirty.
//
// Slots of an owner that lives are emptied if they are hung, or if their host is
// drained and its time is over. Their owner may go on with them until they are, so
// nothing is recorded of them: they end by the result that the store has, or
// their work is queued again. A drain uses no attempt.
//
// # Blame
//
// A death is a process that died. Redis notes it as soon as somebody knows:
//
//	what happens                                   who knows                          a death
//	an owner's process is gone                     its neighbours, from the kernel    yes
//	  (declare_dead; also after it was fenced as late)
//	another process takes its name (register)      that one: it has the lock of the   yes
//	  on the same machine                            name, which ends with a process
//	its host is lost, and comes back:              the above, in time                 yes, then
//	  restarted, or without the process
//	its host is lost and stays away                nobody                             no
//	it is late, was stopped, or cannot reach       itself: it registers again as      no
//	  Redis; it was fenced, and lives                the process that it was
//	another machine takes its host's name          nobody                             no
//	a slot is hung; a host is drained              its owner lives                    no
//	Redis is away, emptied, or its clock is set    nobody died                        no
//	a VM dies under a request (broken)             the runner, whose claim it is yet  yes, of the VM
//	what a request's work left in its VM cannot    the same, from the VM's agent      yes, of the VM
//	  be removed (unclean)
//	a VM is late; a host or a store fails          the runner                         no
//
// All that the owner had in hand when its epoch ended met its death and is marked. A
// marked request runs apart: it waits in a list of its own pool, of which an owner
// takes one at a time, before other work, and no second one while it has one in
// hand. So a cohort does not travel together. A death counts against one request at
// most:
//
//	in the hand of who died           counts against
//	one request                       that one
//	several, one of them marked       the marked one; the others are marked now
//	several, none of them marked      none; all are marked now
//	several, more of them marked      none (they were marked after they were claimed)
//
// What a host held that was lost as a whole is one hand. A VM has one request in its
// life, so its death counts, and marks nobody. A request is dead once MaxDeaths
// deaths of owners or MaxAttempts of VMs count against it; whoever has it in hand
// then records that instead of running it.
//
// A VM that cannot be cleaned is one that nobody may use, and the request runs
// again in a new one. If that goes on, it is not the platform that fails, for what ran there
// before was the submission alone:
//
//	VMs that count against it            those of them that could not be cleaned  the request
//	fewer than MaxAttempts               any                                      runs again, in a new VM
//	MaxAttempts                          all                                      failed, blame submission
//	MaxAttempts                          not all: some died                       dead
//
// Nothing else makes a request dead: no
// number of faults in which nobody died. Those only make its pauses longer, up to
// some four minutes. Tasks are judged by the same rule.
//
// # Crashes
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
