// Package web is the component that people and programs talk to: the API, the pages,
// their events, and two compatible APIs for programs written for other systems. It holds no
// state: sessions are in Redis, everything else in the result store.
//
// A request passes, in this order: a recovery from panics, the log, the headers that
// browsers are held by, the refusal of forms from other sites, compression, and one of
// the compatible APIs. A compatible API knows its caller by a session or a token and hands it on by context.
package web
