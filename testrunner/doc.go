// Package testrunner runs requests: it claims a request together with a clean VM
// of its own host, stages harness and files, runs within limits, records the
// result, and finishes the claim in the same call that claims the next. One process has many
// slots; they share the calls to Redis (see core/worker).
//
//	claim ─▶ assign ─▶ stage ─▶ run ─▶ judge ─▶ record (store) ─▶ finish (Redis) and next
//
// # What becomes of a request when something fails
//
//	what happens                               result                               claim ends
//	the command ends, well or badly            completed, its exit code             done
//	over its time limit                        timed_out, blame submission          done
//	over memory, processes or output           failed, blame submission             done
//	the command cannot be started              failed, blame submission             done
//	its files are refused by the VM            failed, blame submission             done
//	harness: a good report                     completed, its tests and scores      done
//	harness: says that it failed               failed, blame submission             done
//	harness: memory or processes exceeded      failed, blame submission, whatever   done
//	                                           it printed: the VM's limits are the last word
//	harness: over its time, half of it in      failed, blame submission             done
//	  commands of drover-run
//	checker, interactor: over a limit, and     completed, that limit is the         done
//	  not with a silent submission             verdict on the test
//	harness: bad report, exit code, signal,    failed, blame harness                done
//	  over its time, flood, refused archive
//	a file or the harness is not in the blob   failed, blame platform: it would be  done, not queued again
//	  store any more                           missing the next time too
//	the input for the harness is wrong         failed, blame platform               done
//	somebody cancels it                        cancelled; the VM's work is killed   done
//	the VM breaks: its agent is gone, hangs    none                                 broken: as a retry, and it counts
//	  up, or says that it cannot go on                                                against the request
//	what the submission left in the VM cannot  none                                 unclean: as a retry on another VM, and
//	  be removed, as its agent says                                                   it counts against the request
//	that was so in MaxAttempts new VMs         failed, blame submission             done
//	  (package recovery), as its claim says
//	the VM is silent, has another assignment,  none                                 retry on another VM
//	  or staging or the run takes longer than it
//	  may; a blob cannot be read
//	a blob is damaged, several times over      failed, blame platform               done
//	too many deaths count against it (package  dead, blame platform: it is not run  dead
//	  recovery), as its claim says
//	the blob store is down                     none: the claim is kept until it is back
//	the result store is down                   kept in memory and in the spool, tried until it is
//	                                           recorded; the slot is not cleared before
//	the store refuses the result               failed, without output and tests     done
//	Redis is down                              the run goes on; its reports are repeated until
//	                                           Redis answers
//	Redis lost its memory                      the run goes on; the worker registers again and puts its claim back
//	the owner is fenced                        none; the VM's work is killed, a new epoch begins
//	one of the above ends a claim without a    failed, blame platform                done
//	  result, its command was started, and it
//	  must not run twice (on_host_loss: fail)
//	another claim has started such a request   failed, blame platform: not run       done
//	the result store is down when such a       the claim is kept until it is back
//	  request is to start
//	drain (SIGTERM)                            running requests are finished
//	the time for that is up                    none; killed                         release, no attempt used
//	the process dies                           its next start, or the overseer, settles what it held
//	                                           (core/cluster/recovery); spooled results are delivered first
//
// Whichever attempt records first is the result; a later one changes nothing.
//
// # Live output
//
// Output is appended to a stream under request and token while it comes: at once
// after a silence, then at most every 50 ms. What watchers see is always a
// beginning of the whole: where Redis fails or cannot keep up, it just ends, and
// the result has the rest. A last chunk "end" names the state that the request
// went to; its result can be read from then on.
//
// Where the testrunner carries out the tests itself (cases.yaml), chunks of the
// stream "tests" say which of them have ended and how. They are for display: they
// count for nothing, are written on the host, and no output of a VM becomes one.
//
//	what happens                               what watchers have
//	the build runs, or the first second        no marks
//	tests end                                  a mark for each, within the second after it
//	tests are skipped                          their marks, as skipped
//	the build fails                            no marks; the result
//	the attempt is lost, its VM or host dies   no marks until the next attempt, which begins anew
//	                                           under its own token
//	Redis fails, or the output's budget is up  the last marks, or none; the result
//	the grading ends                           the result; marks that have not left yet never do
//	a harness with a main of its own           no marks
package testrunner
