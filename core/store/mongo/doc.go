// Package mongo keeps the result store in a database of MongoDB, for a cluster of many machines.
//
// No transaction spans documents: a standalone server has none. So data that must agree is
// in one document and is decided by one conditional change of it. Other changes of a call
// come before that and mean nothing without it, or come after it and can be made up for. A
// change returns only after a majority of the servers have it in their journals, and is read
// from the primary only, so accepted work survives the loss of any one server.
//
// What decides each call, and what a crash in the middle of it leaves:
//
//	call              decided by                                         crash before or after that
//	Create            the request's document; its key is in it, unique   –
//	Record            the change of (id, generation, queued) to the end, before: pieces of a long output, which the result
//	                  which takes result, blame, score and outbox along  that is accepted takes away. After: so does a
//	                                                                     repeat of it, or they go with the request
//	Record, too late  the winner's origin in the request's document      before: the history lacks a refused try
//	Rerun             the change of (id, generation, end) to queued      before: the history has the result already, and
//	                                                                     shows it once. After: pieces of its output stay
//	Purge             the change to the state gone, which frees the key  after: documents without a request; the next Purge
//	                                                                     sweeps, or a Create of the same id
//	ExpireOutputs     the mark in the request's document, made last      before: done again
//	EndTask, Retry…   the change of the revision of the task's document; as Create; a unique key is in it while it is queued
//	Sent              taking the generation out of the document's list   after: the empty list is found by the next Purge
//	AddStateChanges   each change's document, whose id names it            a part is there: the same call again adds the rest
//	MoveMark          the change of the mark's document                    –
//	PutHostWish       the change of the wish's document, if that is older, or a new one     –
//	Put…              the change of the revision, or a new document      –
//	PutLease,         the change of the calendar's revision, which       after: each read of leases makes it first, see
//	DeleteLease       takes the whole write along                        calendar.go
//	PutInstance       the change of its revision, or a new document      after: of a group that was deleted meanwhile
//	Enrol             the user's document, which holds the classes       see below
//	PutAccount        the user's document, which holds the account       –
//	AddToken          the token's document; its hash is unique           after: a token whose secret is lost
//	SpendToken, …     the deletion of the document                       –
//	AddIdentity       the identity's document                            after: it is the user's, or goes with it
//	CreateSubmission  the submission's document, which has the request   after: its request has no document yet. It counts
//	                  that grades it until that has its own              as waiting, and each read of requests makes it
//	                                                                     first: Get, List, Unfinished
//	Bind              the change of the submission's request             before: the other one is kept too, until the
//	                                                                     submission goes
//	PutDeadline       the deadline's document, or its change to gone     after: another submission may count. A mark in the
//	                                                                     document says so, and the next read finds it
//	Delete…           the change to gone, which hides the document       before: it is closed for half a minute. After: what
//	                                                                     refers to it; the same call again, or a new thing
//	                                                                     of that name, deletes that first
//
// A class, assignment or user is deleted only if nothing refers to it, and nothing may refer to one
// that is being deleted. Both sides check after their write: a deletion closes the document and then
// searches for references; a new reference is written, then checks whether its target is closed, and
// is removed again if so. If a program dies before this second check, a reference to a missing
// document is left; a user's membership of such a class can be dropped.
//
// The history of a request is in the order in which things were recorded. The result that counts
// stands in the request's document until a rerun moves it; Get is one read. Of long output the
// first 256 KiB of each stream stand there too, and the rest in documents of at most 4 MiB, for
// one may have no more than 16.
//
// Bounds on how many pools, images, webhooks, schedules and refused results there may be are
// looked at before the change: several at the same moment can pass them by a few.
package mongo
