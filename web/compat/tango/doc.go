// Package tango is a compatible API for programs written for Tango, the grading service of Autolab:
// open, upload, addJob and poll, with drover's tokens as keys.
//
// A courselab is a folder that a user fills by uploads. What it holds is noted for a day
// at most, the files lie in the blob store. A job is one request of drover: its files are
// laid into a fresh VM, make is run there, and what it printed is the output.
//
// As there, all answers but outputs are JSON with statusId and statusMsg, under the HTTP
// status 200 also where the statusId is -1. docs/migrate.md says what differs.
package tango
