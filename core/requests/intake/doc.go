// Package intake accepts work: it submits, changes, cancels and reruns requests and tasks,
// sets pools, and sweeps up what a crash left half done.
//
// Store first, Redis second, always: a request is accepted once its row is
// durable, and has ended once its end is. Redis may lag behind, never lead. So
// every crash leaves one of a few half-done states, each of which is healed:
//
//	crash after                    leaves                                   healed by
//	Submit   Create                unfinished row, nowhere in Redis         Sweep: withdraws older ones, queues it
//	         older ones withdrawn  the same                                 the same
//	         Enqueue               nothing                                  -
//	         FULL, no refusal      accepted after all                       Sweep, once there is room
//	SubmitWith                     as Submit; its record is made with the   as Submit
//	                               row, so neither exists alone
//	batch    CreateBatch           record in state making, no requests      Sweep, or the same call again: makes all
//	         Create of some        the same, some of its requests           the same: their ids follow from the batch's
//	         MoveBatch made        unfinished rows, nowhere in Redis        Sweep
//	         Enqueue               nothing                                  -
//	         (a rerun is a batch)
//	cancel   MoveBatch cancelling  record in state cancelling               Sweep, or the same call again: makes what
//	of one                                                                  is missing, cancels all
//	         stop of some          the same                                 the same
//	         MoveBatch cancelled   nothing                                  -
//	stop     mark                  waits, marked                            a claim: its owner records it cancelled;
//	                                                                        Expire, FailBroken and the next Cancel go
//	                                                                        on from there
//	         Record                ended row, waits, marked                 a claim: its result is refused, it finishes
//	         Withdraw              nothing                                  -
//	Change   ChangeSpec            waits with its former spec               Sweep, or a repeat: changes it; a claim runs
//	                                                                        what it took, and its result says so
//	         Queue.Change          nothing                                  -
//	         claimed, no UseChange runs with its former spec                Sweep, or the record of its result
//	Remove   MarkRemoved           marked; as after stop                    SweepRemoved goes on from there
//	         its end               ended row, marked                        SweepRemoved, once Redis does not have it
//	Rerun    Store.Rerun           unfinished row, nowhere in Redis         Sweep
//	SetPool  PutPool               Redis has the old settings               RestorePools
//	RemovePool
//	         Store.RemovePool      Redis still has it                       RestorePools: removes it, or gives it back to
//	                                                                        the store if something uses it by now
//	task     CreateTask            unfinished task, nowhere in Redis        Sweep
//	         EnqueueTask           nothing                                  -
//	retry    RetryTask             unfinished task, nowhere in Redis        Sweep
//	stopTask mark                  waits, marked                            a claim: its owner records it cancelled;
//	                                                                        the next CancelTask goes on from there
//	         EndTask               ended task, waits, marked                a claim: its end is refused, it finishes
//	         WithdrawTask          parts of it that go on                   Sweep stops parts of cancelled tasks
//	Sweep    Enqueue               queued; max_wait counts from its submit  nothing: it may end too early, as if
//	                                                                        Redis had not been lost
//	Redis    everything            unfinished rows, nowhere in Redis        RestorePools; testrunners put back what they
//	                                                                        run, for which Sweep waits; then Sweep
//	store    is set back           unfinished rows, ended by Redis          Sweep: queues them again
//	                               Redis has what has no row                Audit: takes it out
//
// A testrunner runs what Redis has. So each change of a waiting request has a number that is never used again; the store
// keeps the values of all of them, the spec and the result name theirs. Recording the result of a claim makes the
// values that ran those of the request, so a crash can undo a change, and never make the store tell what did not run.
//
// A batch is one record and its requests, which are ordinary ones. The record is first, so the batch is accepted
// whole or not at all. What is asked of a batch as a whole follows from its requests; core.BatchTransitions has the
// states of the record.
//
// All ends of requests that no owner has claimed go through stop: cancel, supersede,
// expire, fail and refuse. It first queues the request if Redis does not have it (its Submit
// is between its two steps, or Sweep has not reached it). The end then leaves a
// tombstone, and an Enqueue in flight changes nothing.
//
// Sweep reads store, Redis, store, Redis, in that order. A request that is unfinished
// and absent in both readings is lost, and not merely in flight: its end is recorded
// before it is taken out of Redis, so the second reading of the store would see the
// end. Enqueue leaves present requests as they are, so several processes may sweep,
// submit and cancel at once.
package intake
