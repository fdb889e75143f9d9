// Package api is the API for programs, under /api/v1: JSON of the structs that core
// and core/classes answer with, described by OpenAPI 3.1.
//
// One table of operations says of each its method, its path, the right that it needs and
// the scope that a token must have for it. Routes, description, documentation and the
// test of roles against operations are made from that table. Handlers call
// what services.Deps holds, with the caller's actor, and never a store.
package api
