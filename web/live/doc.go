// Package live sends events to programs and pages, as Server-Sent Events. Every stream continues after the event in
// Last-Event-ID, so it may break off at any time: when the site or the reader ends, because the reader is too slow,
// or because its rights have changed. When the reader returns, its rights are checked again.
//
//	stream                          events                               ends
//	/api/v1/requests/{id}/events    state output gap reset idle away end after end
//	/events/requests/{id}           changed output gap reset end         after end
//	/events/batches/{id}            changed end                          after end
//	/events/submissions/{id}        changed output gap reset end         after end
//	/events/tasks/{id}              changed end                          after end
//	/events/experiments/{id}        changed end                          after end
//	/events/cluster                 changed                              never
//
// Programs get idle once, after all present events, and away while the live state is not known.
//
// A page that gets changed has its parts rendered again; an event never contains more than the page would show. A
// reader that returns after the end is answered with 204.
package live
