// Package judge0 is a compatible API for programs written for Judge0: the useful part of its API, with drover's
// tokens as keys. A submission is one request of drover: a plain command, a script that compiles and runs. Its source
// is kept as an attachment that no VM sees, and outputs are compared here, so that a program cannot read the expected
// output.
//
// What cannot be mapped is refused. docs/migrate.md describes the differences.
package judge0
