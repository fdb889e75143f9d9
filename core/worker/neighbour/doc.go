// Package neighbour detects the death of a process on the same host within milliseconds: the kernel reports it to the
// other processes of the host. They end the owner's epoch and settle what it held, as the overseer would do once its
// heartbeat is late.
//
// Each owner leaves a note in a folder of its host when it registers, with its name, its epoch, and the identity of
// its process. Its neighbours watch that process by a pidfd, which keeps naming the same process even if its number
// is used again.
//
//	what happens                             then
//	the process dies, in any way             its neighbours declare it dead: declare_dead, settle, forget
//	it stops as it should                    it deregisters and removes its note before it ends
//	it dies between registering and noting   not detected here: its heartbeat will be late
//	it dies before anybody looked            the first look finds a note without its process: declared dead
//	another process has its number by then   that one started at another time: declared dead
//	the host was restarted since             the note is of another boot: declared dead
//	this process cannot look (no descriptor  tried again until it can: nobody is declared dead by a guess
//	  left, no memory)
//	it was restarted under its name          the epoch in the old note is over: Redis refuses, the note is removed
//	several neighbours see it                each declares it dead: the second one changes nothing
//	Redis or the store is away               tried again until it answers; the overseer would too
//	it lives in another pid namespace        not watched: its number means nothing here
//	it hangs                                 it is not dead: the overseer handles late heartbeats and limits
//	the host dies                            so do the neighbours: the overseer handles it
//	the kernel has no pidfd (before 5.3)     reported once; only heartbeats are left
package neighbour
