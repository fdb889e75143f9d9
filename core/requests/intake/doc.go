// Package intake is the way in: submit, cancel, rerun, pools, tasks, and the
// sweeps that heal what a crash left half done.
//
// Store first, Redis second, always: a request is accepted once its row is
// durable, and has ended once its end is. Redis may lag behind, never lead. So
// every crash leaves one of a few half-done states, and somebody heals each:
//
//	crash after                    leaves                                   healed by
//	Submit   Create                unfinished row, nowhere in Redis         Sweep: withdraws older ones, queues it
//	         older ones withdrawn  the same                                 the same
//	         Enqueue               nothing                                  -
//	         FULL, no refusal      accepted after all                       Sweep, once there is room
//	SubmitWith                     as Submit; what it is for is made with   as Submit
//	                               the row, so neither is there alone
//	stop     mark                  waits, marked                            a claim: its owner records it cancelled;
//	                                                                        Expire and the next Cancel go on from there
//	         Record                ended row, waits, marked                 a claim: its result is refused, it finishes
//	         Withdraw              nothing                                  -
//	Rerun    Store.Rerun           unfinished row, nowhere in Redis         Sweep
//	SetPool  PutPool               Redis has the old settings               RestorePools
//	task     CreateTask            unfinished task, nowhere in Redis        Sweep
//	         EnqueueTask           nothing                                  -
//	retry    RetryTask             unfinished task, nowhere in Redis        Sweep
//	stopTask mark                  waits, marked                            a claim: its owner records it cancelled;
//	                                                                        the next CancelTask goes on from there
//	         EndTask               ended task, waits, marked                a claim: its end is refused, it finishes
//	         WithdrawTask          parts of it that go on                   Sweep stops what is a part of the cancelled
//	Sweep    Enqueue               queued; max_wait counts from its submit  nothing: it may end too early, as if
//	                                                                        Redis had not been lost
//	Redis    everything            unfinished rows, nowhere in Redis        RestorePools, then Sweep
//
// stop is the one way to end what nobody has begun: cancel, supersede, expire
// and refuse. It first puts the request into Redis if it is nowhere (its Submit is
// between its two steps, or Sweep has not come by): then the end leaves a
// tombstone there, and an Enqueue that was on its way changes nothing.
//
// Sweep reads store, Redis, store, Redis, in that order. What is unfinished and
// absent in both readings was not merely on its way: whoever takes a request out of
// Redis recorded its end before, so the second reading of the store sees that. Enqueue
// leaves alone what is there, so any number of processes may sweep, submit and cancel at once.
package intake
