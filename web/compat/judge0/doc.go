// Package judge0 is a compatible API for programs written for Judge0: the useful part of its API,
// with drover's tokens as keys. A submission is one request of drover: a plain command,
// a script that compiles and runs. What it was made of is kept beside it, as an
// attachment that no VM sees, and outputs are compared here; so a program cannot read
// what is expected of it.
//
// What cannot be mapped is refused. docs/migrate.md says what differs.
package judge0
