// Package experiment makes, compares and stops the requests of an experiment, which
// reruns an assignment. It is shared by core/classes and taskrunner.
//
// An experiment is created by its start (core/classes), filled by its task and the parts
// of the task (taskrunner), and decided by apply or abort (core/classes). Its state only
// changes by compare and set, so if two calls decide at once, one is refused. The request
// that counts for a submission is one field of the submission, which Bind changes from
// the old request to the new one or not at all.
//
//	crash of  after                   leaves                                     healed by
//	start     the task                a task without an experiment               the task: it ends after a minute
//	          the experiment          nothing                                    -
//	task      some parts              running, not all parts there               its next try: parts are named by submission and run
//	          all parts               running, requests not counted              the same
//	          the last request ended  running                                    the same
//	          ready                   ready, the task not ended                  its next try: it only ends
//	part      the request             a request, the part not ended              its next try: the request is named as the part is
//	apply     applying                applying, nothing counts yet               apply again
//	          the harness             applying, new submissions get the new one  apply again
//	          some bindings           applying, some count                       apply again: what was bound is not bound again
//	          all bindings            applying                                   apply again
//	abort     aborted                 requests that wait, a task                 the task: it stops them; abort again
//	          some requests stopped   the same                                   the same
//	          the task stopped        parts that wait                            the sweep of core/requests/intake; parts begin nothing any more
//	task      cancelled by hand       running, its parts cancelled               abort; or a retry of the task, which makes it ready
//
// A part that makes its request while the experiment is being aborted checks again
// afterwards, and abort waits until no part is running: when it returns, no request of the
// experiment waits.
//
// Requests of an experiment that was not applied are purged by age, as all are.
package experiment
