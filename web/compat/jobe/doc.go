// Package jobe is a compatible API for programs written for Jobe, above all CodeRunner, the question type of Moodle:
// languages, files by id, and runs, with drover's tokens as keys.
//
// A run is one request of drover: a plain command, a script that compiles and runs, in a fresh VM. The call waits for
// its end, since CodeRunner knows no other way. How long it waits, how many calls wait, and how many bytes they hold
// is bounded: beyond that the answer is the outcome for an overload at once, and what was not started is cancelled,
// because nobody waits for it any more.
//
//	the call                                    the request            answer
//	no place to wait, the queue is full         none                   overload
//	waits in the queue for longer than MaxQueue cancelled              overload
//	runs for longer than it can                 cancelled              overload
//	the caller goes away                        cancelled              none
//	a host breaks                               runs again elsewhere   as if nothing had been
//	the store or Redis is away                  ends, or none          503
//
// Files are notes in Redis, by user and id, of content in the blob store. docs/migrate.md describes the differences.
package jobe
