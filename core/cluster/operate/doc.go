// Package operate is what operators see of the cluster and do to it. Web, API and command
// line call an Operator and nothing else, so they agree on who may do what.
//
// Every call takes the acting user first. What is read needs cluster.view, what is done needs
// cluster.operate and stands in the audit log before it is done.
//
// Pages are open on many screens and look often. So what they show is read at most once a
// second by one process, however many ask, and the findings of a consistency check, which reads all
// of Redis, once in half a minute. What is done is seen by the next reading.
package operate
