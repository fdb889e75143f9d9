// Package tango is a compatible API for programs written for Tango, the grading service of Autolab: open, upload,
// addJob and poll, with drover's tokens as keys.
//
// A courselab is a folder that a user fills by uploads. Its list of files is kept for a day at most; the files are in
// the blob store. A job is one request of drover: its files are copied into a fresh VM, make is run there, and its
// output is the job's output.
//
// As in Tango, all answers except outputs are JSON with statusId and statusMsg, with the HTTP status 200 even if the
// statusId is -1. docs/migrate.md describes the differences.
package tango
