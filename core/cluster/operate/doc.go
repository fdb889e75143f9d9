// Package operate has what operators see of the cluster and do to it. Web, API and command line only call its
// Service, so they agree on rights.
//
// Every call takes the acting user first. Reading needs the right cluster.view. Changes need cluster.operate, and are
// in the audit log before they are made.
//
// Pages are open on many screens and refresh often. So one process reads the shown data at most once a second,
// however many ask, and runs the consistency check, which reads all of Redis, at most once in half a minute. A change
// is visible in the next reading.
package operate
