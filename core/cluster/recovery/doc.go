// Package recovery settles what a lost owner held, by its state in the store: the same
// code for an owner that restarts, for its neighbours, and for the overseer.
//
// Store first, Redis second. A slot of a testrunner ends by what the store knows:
//
//	in the store                      so the slot ends
//	its terminal result               done (dead, if that is the result)
//	nothing, and it was cancelled     recorded cancelled, then done
//	nothing, it was begun and must    recorded failed, then done
//	  not run twice
//	nothing, and too many deaths      recorded dead, then dead: it may be what kills
//	  count against it
//	nothing                           retry: queued again, one attempt used
//	not even the request              done: the request was deleted
//
// The store is read after the fencing, so that a result that the lost owner recorded
// last is found. If the owner records one later, the store refuses either that result
// or ours, and the slot ends by the one that the store has. A taskrunner's slot ends
// the same way. A vmfactory's slots hold VMs half made or half destroyed: they end dirty.
//
// Slots of a living owner are emptied if they are hung, or if their host is drained and
// the deadline is over. The owner may work on until then, so nothing is recorded for
// them: they end by the result that the store has, or their work is queued again. A
// drain uses no attempt.
//
// # Blame
//
// A death is a process that died. Redis records it as soon as it is known:
//
//	what happens                                   who detects it                     a death
//	an owner's process is gone                     its neighbours, from the kernel    yes
//	  (declare_dead; also after it was fenced as late)
//	another process takes its name (register)      that process: it has the name's    yes
//	  on the same machine                            lock, which ends with its holder
//	its host is lost, and comes back:              the above, in time                 yes, then
//	  restarted, or without the process
//	its host is lost and stays away                nobody                             no
//	it is late, was stopped, or cannot reach       itself: it registers again as      no
//	  Redis; it was fenced, and lives                the process that it was
//	another machine takes its host's name          nobody                             no
//	a slot is hung; a host is drained              its owner lives                    no
//	Redis is away, emptied, or its clock is set    nobody died                        no
//	a VM dies under a request (broken)             the testrunner that has the claim  yes, of the VM
//	what a request's work left in its VM cannot    the same, from the VM's agent      yes, of the VM
//	  be removed (unclean)
//	a VM is late; a host or a store fails          the testrunner                     no
//
// All work that the owner held when its epoch ended met its death and is marked. A
// marked request runs apart: it waits in a separate list of its pool. An owner takes
// one from there at a time, before other work, and no second one while it holds one.
// So a group of marked requests does not stay together. A death counts against one
// request at most:
//
//	held by the owner that died       counts against
//	one request                       that one
//	several, one of them marked       the marked one; the others are marked now
//	several, none of them marked      none; all are marked now
//	several, more of them marked      none (they were marked after they were claimed)
//
// For a lost host, the work of all its owners counts as held together. A VM has one
// request in its life, so its death counts, and marks no other. A request is dead once
// MaxDeaths deaths of owners or MaxAttempts deaths of VMs count against it; the next
// owner that claims it records that instead of running it.
//
// A VM that cannot be cleaned is not used again, and the request runs again in a new
// one. If that happens each time, the fault is not the platform's, because only the
// submission ran in these VMs:
//
//	VMs that count against it            those of them that could not be cleaned  the request
//	fewer than MaxAttempts               any                                      runs again, in a new VM
//	MaxAttempts                          all                                      failed, blame submission
//	MaxAttempts                          not all: some died                       dead
//
// Nothing else makes a request dead. Faults without a death only make its pauses longer,
// up to some four minutes. The same rule applies to tasks.
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
// Two reapers at once record under the same token and settle by the same tokens: the
// second moves nothing. An owner that comes back in the meantime has a newer epoch, so
// the reaper is refused. That already happens when it lists slots; otherwise it would
// record ends for a living successor's work.
package recovery
