// Package api is the API for programs, under /api/v1: JSON of the types that core and core/classes return, described
// by OpenAPI 3.1.
//
// One table of operations has the method of each, its path, and the right and scope that it needs. Routes,
// description, documentation and the test of roles against operations are made from that table. Handlers call the
// services in services.Deps on behalf of the caller, and never a store.
package api
