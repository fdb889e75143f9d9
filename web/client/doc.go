// Package client speaks drover's API from Go: it is what the command line stands on
// where it is given a site instead of a cluster.
//
// Answers are the structs of core and core/classes. What the site refuses is a
// *core.Error with the site's own code and sentence, so a program need not know
// whether it asked a cluster or a site.
//
// Calls that change nothing twice are repeated while the site does not answer: reads, and
// what is sent with an idempotency key. A site that asks to wait (Retry-After) gets
// it, within Options.Timeout. Files go out and come in as streams, never whole in
// memory. Streams of events go on where they broke off.
//
// A token is sent to the one site that it was made for: over https, or to this very
// machine, and no redirect takes it elsewhere.
package client
