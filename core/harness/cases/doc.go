// Package cases is the stock harness: a YAML file says how a submission is built and what each test gives it and
// expects of it, and drover does the rest. This package reads the file, compares outputs and decides verdicts; the
// testrunner drives the VM. Expected outputs stay on the host, out of reach of the submission.
package cases

// File is the name of the file in a harness folder.
const File = "cases.yaml"

// Bounds on a file.
const (
	MaxSize     = 1 << 20  // bytes of cases.yaml
	MaxTests    = 999      // a result has one more, for the build
	MaxInline   = 1 << 20  // bytes of any one text
	MaxExpected = 16 << 20 // bytes of an expected output
	MaxNodes    = 200_000  // of the YAML document, aliases counted each time
	MaxCommands = 20       // of one build
	MaxArgs     = 200      // words of a command
	MaxName     = 100      // characters of a name
	MaxPasses   = 100      // runs of a submission for one test
	MaxFeedback = 16 << 20 // bytes of what a checker leaves for the next pass
)
