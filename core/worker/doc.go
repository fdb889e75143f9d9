// Package worker is an owner's side of the queue: its registration and heartbeat
// (Presence), and the Worker by which its goroutines take and end work.
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
