// Package worker is an owner's side of the queue: its registration and heartbeat
// (Presence), the loop of its epochs (Epochs), and the Worker by which a testrunner's
// goroutines take and end work.
//
// # The life of an owner
//
// Testrunner, taskrunner and vmfactory all live like this. A testrunner's Presence is inside
// its Worker; the other two have a loop of their own and a Presence beside it.
//
//	state    until                                 then
//	joining  Register answers                      present, with what the predecessor left
//	         BUSY, VERSION, INVALID, FORBIDDEN     ended: no repeat mends that
//	         any other error                       joining again, after a pause (0.1 s to some 5 s, see Epochs)
//	         told to stop                          ended
//	present  any call answers FENCED               fenced
//	         a lane's call answers STALE           fenced: another process acts under our name and epoch
//	         Leave                                 leaving
//	         Stop                                  ended; Redis takes it for a crash
//	fenced   what is in hand was stopped           joining, after a pause
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
//	the owner's loop is busy (a        the same: a heartbeat depends on nothing but Redis
//	provider is slow, a store is away)
//	Redis is away                      a heartbeat is tried four times as often as one is due
//	the process was stopped, or cut    its first call afterwards answers FENCED; the next epoch finds what was left
//	off, and was fenced
//	two processes have one name        each fences the other, after pauses that grow to some 5 s
//	an answer to Deregister is lost    it is repeated, and finds nothing or an epoch that is over: both are well
//	Redis is away when it leaves       its slots and its name stay; it is found late
//
// # The worker
//
// Workers hand over what they have (a finish, a wish for the next work, or both)
// and wait. A few lanes carry that to Redis: whenever a lane is free and anything
// waits, it takes all of it along, up to a batch, in one Exchange. Nobody waits
// for company; while the calls of a busy worker are under way the next batch gathers by
// itself. So one worker costs one call a job, and a hundred cost about one in thirty.
// Claims in an answer go to whoever waits longest: a call asks for a number, not
// for particular workers.
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
//	                                        answers as the first time
//
// A piece of work:
//
//	state       until                               then
//	asked for   its claim arrives                   in hand; if nobody waits any more, submitted (release)
//	in hand     Finish, FinishNext                  submitted
//	            somebody cancels it                 in hand, Cancelled closed (CANCELLED)
//	            the worker is lost                    dropped, Cancelled closed (FENCED)
//	            its slot is found to be another's   dropped, Cancelled closed (STALE)
//	            Close ran out of time               submitted (release), Cancelled closed (UNAVAILABLE)
//	submitted   a lane takes it along               ending
//	ending      the answer comes                    ended: Finish returns its verdict
//	            the worker is lost or closed          dropped: Finish returns FENCED or UNAVAILABLE
//
// # What can go wrong
//
//	an answer is lost              the lane repeats its frozen call; the other lanes go on
//	Redis is away for minutes      work goes on; finishes wait in the lanes and behind them, none is
//	                               dropped; if that lasts until the owner is reaped, it hears FENCED
//	the owner is fenced            all its work is cancelled, everybody hears FENCED, nothing more is sent;
//	                               what it held is settled by the store (package recovery)
//	a newer process has our name   the same: its registration fenced us
//	a worker stops waiting         its claim goes to another, or is released; a finish goes through anyway
//	the slot was taken back (its   Redis counts fewer slots than are in hand, so the worker looks, and stops the
//	work is hung, or must move)    work; a finish that comes anyway moves nothing
//	somebody settled the slot      Finish says false: the store has the result, nothing is wrong
//	Redis was emptied              the owner is unknown: FENCED
//	Redis came back older          a finish it had answered is undone: Redis counts more slots than the
//	                               worker knows, so the worker looks, and releases what it has not in hand
//	a ring is lost                 the poll finds the work
//	a ring is taken and not needed an Exchange without a wish passes it on
//
// # Who waits for what
//
// Workers that got nothing wait for the host's bell: one goroutine does, for all.
// While there is work in hand another waits for notices to the owner, so that a
// cancel reaches running work at once; with the beat it would come later. A full worker
// does not listen to the bell, which is there for those who can use it. Beats ride on
// the calls; only when there are none does a timer send one.
package worker
