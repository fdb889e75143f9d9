// Package web is the server of the site: the API, the pages, their events, and two compatible APIs for programs
// written for other systems. It has no state: sessions are in Redis, everything else in the result store.
//
// A request passes, in this order: recovery from panics, the log, security headers for browsers, the refusal of forms
// from other sites, compression, and one handler. The handler authenticates its caller by a session or a token, and
// passes the caller on in the context.
package web
