// Package worker is an owner's side of the queue: its registration and heartbeat
// (Presence), the loop of its epochs (Epochs), and the Worker through which a
// testrunner's goroutines claim and finish work.
//
// # The life of an owner
//
// This life cycle is the same for testrunner, taskrunner and vmfactory. A testrunner's
// Presence is inside its Worker; the other two have a loop of their own and a Presence beside it.
//
//	state    until                                 then
//	joining  Register answers                      present, with what the predecessor left
//	         BUSY, VERSION, INVALID, FORBIDDEN     ended: no repeat changes that
//	         any other error                       joining again, after a pause (0.1 s to some 5 s, see Epochs)
//	         told to stop                          ended
//	present  any call answers FENCED               fenced
//	         a lane's call answers STALE           fenced: another process acts under our name and epoch
//	         Leave                                 leaving
//	         Stop                                  ended; Redis takes it for a crash
//	fenced   its work has been stopped            joining, after a pause
//	         told to stop meanwhile                ended
//	leaving  Deregister answers, or says that      ended
//	         the owner is not there any more
//	         CONFLICT: it holds something          ended; its next start or the overseer settles that
//	         time is up (CloseTimeout)             ended; the same
//
// The owner is present while it settles what its predecessor left, and takes no work until that is done.
//
//	a call that would carry the        Presence sends one by a call of its own
//	heartbeat stalls or fails
//	the owner's loop is busy (a        the same: a heartbeat depends only on Redis
//	provider is slow, a store is away)
//	Redis is away                      a heartbeat is tried four times as often as one is due
//	the process was stopped, or cut    its first call afterwards answers FENCED; the next epoch settles what was left
//	off, and was fenced
//	two processes have one name        each fences the other, after pauses that grow to some 5 s
//	an answer to Deregister is lost    it is repeated; no owner, or an epoch that is over, counts as success
//	Redis is away when it leaves       its slots and its name stay; its heartbeat will be late
//
// # The worker
//
// Callers hand over a finish, a wish for the next work, or both, and wait. A few
// lanes carry these to Redis: whenever a lane is free and anything waits, the lane
// sends all of it, up to a batch, in one Exchange. A lane never waits for a batch to
// fill; the next batch gathers while calls are in flight. So one caller costs one
// call a job, and a hundred cost about one call for thirty jobs. Claims in an answer
// go to the caller that has waited longest: a call requests a number of claims, not
// claims for particular callers.
//
// A lane:
//
//	state    until                          then
//	free     a finish or wish waits         loaded: its call is frozen, with the lane's next number
//	loaded   the answer comes               free: verdicts and claims are handed out
//	         FENCED                         the worker is lost
//	         STALE: another process acts    the worker is lost
//	         under our name and epoch
//	         any other error                pausing: whether the call was done is not known
//	pausing  a pause is over (10 ms to 1 s) loaded: the same call again; Redis knows its number and
//	                                        gives the same answer
//
// A piece of work:
//
//	state       until                               then
//	requested   its claim arrives                   held; if no caller waits any more, submitted (release)
//	held        Finish, FinishNext                  submitted
//	            somebody cancels it                 held, Cancelled closed (CANCELLED)
//	            the worker is lost                  dropped, Cancelled closed (FENCED)
//	            its slot was revoked                dropped, Cancelled closed (STALE)
//	            Close ran out of time               submitted (release), Cancelled closed (UNAVAILABLE)
//	submitted   a lane sends it                     ending
//	ending      the answer comes                    ended: Finish returns its verdict
//	            the worker is lost or closed        dropped: Finish returns FENCED or UNAVAILABLE
//
// # What can go wrong
//
//	an answer is lost              the lane repeats its frozen call; the other lanes go on
//	Redis is away for minutes      work goes on; finishes wait in the lanes and behind them, none is
//	                               dropped; if that lasts until the owner is reaped, its next call answers FENCED
//	the owner is fenced            all its work is cancelled, all callers get FENCED, nothing more is sent;
//	                               what it held is settled by the store (package recovery)
//	a newer process has our name   the same: its registration fenced us
//	a caller stops waiting         its claim goes to another, or is released; its finish is sent anyway
//	the slot was revoked (its      Redis counts fewer slots than the worker, so the worker compares them, and
//	work is hung, or must move)    stops the work; a finish that is sent anyway moves nothing
//	somebody settled the slot      Finish returns false: the store has the result, nothing is wrong
//	Redis was emptied              the owner is unknown: FENCED. It registers again, which Redis refuses if it has ended the
//	                               epoch and not forgotten it, and puts back what it holds (Claims.Reclaim); work goes on
//	Redis came back older          its incarnation is another: the worker puts back what it holds. A finish that Redis had
//	                               answered is undone: the worker releases slots that it does not know
//	a ring is lost                 the poll finds the work
//	a ring is taken and not needed an Exchange that wants no claim passes it on
//
// # What is waited for
//
// One goroutine waits for the host's bell, for all callers that got no work. While work
// is held, another waits for notices to the owner, so that a cancel reaches running work
// at once rather than with the next heartbeat. A full worker does not listen to the bell,
// so that others get the ring. Heartbeats are part of the calls; a timer sends one only
// when there are no calls.
package worker
