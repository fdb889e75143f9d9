// Package harness is the contract between drover and a grading program: the program's standard input, the output that
// it must print, the meaning of its settings, and how its folder is packed. docs/harness.md describes the same for
// authors.
//
// A harness is a folder with an executable file named main and, if the author wants settings, a file named
// harness.json. It runs in a fresh VM beside one submission, reads one JSON object, and prints exactly one.
//
// The harness's output is not trusted, because the submission that it runs may have influenced it. Wrong numbers and
// structures are refused, because they become grades. Texts that are too long or contain control characters are
// corrected, because they are only read.
package harness

// MainFile and ConfigFile are the two file names in a harness folder that mean something.
const (
	MainFile   = "main"
	ConfigFile = "harness.json"
)
