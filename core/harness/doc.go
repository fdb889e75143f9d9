// Package harness is the contract between drover and a grading program: what
// the program gets on its standard input, what it must print, what its settings
// mean, and how a folder of it is packed. docs/harness.md tells authors the same.
//
// A harness is a folder with an executable file named main and, if the author
// wants settings, a file named harness.json. It runs in a fresh VM beside one
// submission, reads one JSON object, and prints exactly one.
//
// Nothing here trusts the harness: what it prints is untrusted input, because the
// submission that it runs may have had a submit it. Numbers and shapes that are
// wrong are refused, for they become grades; texts that are too long or hold
// control characters are mended, for they are only read.
package harness

// MainFile and ConfigFile are the two file names in a harness folder that mean something.
const (
	MainFile   = "main"
	ConfigFile = "harness.json"
)
