// Package neighbour makes the death of a process known to the other processes of
// its host within milliseconds: the kernel tells them. They end its epoch and
// settle what it held, as the overseer would once its heartbeat is late.
//
// Each owner leaves a note in a folder of its host when it registers: its name,
// its epoch, and which process it is. Its neighbours watch that process by a
// pidfd, which names one process for good, whoever gets its number later.
//
//	what happens                             then
//	the process dies, however                its neighbours declare it dead: declare_dead, settle, forget
//	it stops as it should                    it deregistered: its note is gone before it is
//	it dies between registering and noting   nobody knows: its heartbeat will be late
//	it dies before anybody looked            the first look finds a note without its process: declared dead
//	its number belongs to another by then    that one started at another time: declared dead
//	the host was restarted since             the note is of another boot: declared dead
//	this process cannot look (no descriptor  tried again until it can: nobody is declared dead by a guess
//	  left, no memory)
//	it was restarted under its name          the epoch in the old note is over: Redis refuses, the note goes
//	several neighbours see it                each declares it dead: who comes second changes nothing
//	Redis or the store is away               tried again until it answers; the overseer would too
//	it lives in another pid namespace        not watched: its number means nothing here
//	it hangs                                 it lives: late heartbeats and limits are the overseer's
//	the host dies                            so do the neighbours: the overseer's
//	the kernel has no pidfd (before 5.3)     said once; heartbeats are all there is
package neighbour
