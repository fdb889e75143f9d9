// Package live tells programs and pages what happens, as Server-Sent Events. Every stream
// goes on after the event that Last-Event-ID names, so one may break off at any time: at
// the site's end, at the reader's, because it reads too slowly, or because its rights have
// changed. The reader comes back, and what it may see is looked up anew.
//
//	stream                          events                               ends
//	/api/v1/requests/{id}/events    state output gap reset idle away end after end
//	/events/requests/{id}           changed output gap reset end         after end
//	/events/submissions/{id}        changed output gap reset end         after end
//	/events/tasks/{id}              changed end                          after end
//	/events/experiments/{id}        changed end                          after end
//	/events/cluster                    changed                              never
//
// Programs hear idle once, when they were told all that there was, and away while what is
// live is not known.
//
// A page that hears changed has its parts rendered anew: what an event says is never more
// than what the page would show. Whoever comes back after the end is answered 204.
package live
