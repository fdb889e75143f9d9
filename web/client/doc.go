// Package client is the Go client of drover's API. The command line uses it when it is given a site instead of a
// cluster.
//
// Answers are the types of core and core/classes. A refusal by the site is a *core.Error with the site's own code and
// sentence, so a program need not know whether it called a cluster or a site.
//
// Calls that may be repeated without further effect are repeated while the site does not answer: reads, and calls
// with an idempotency key. If a site asks for a pause (Retry-After), the client waits, within Options.Timeout. Files
// are sent and received as streams, never whole in memory. Interrupted streams of events are continued.
//
// A token is sent only to the site that made it, over https or to this machine, and no redirect takes it elsewhere.
package client
