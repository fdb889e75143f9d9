// Package problem reads problem packages of Kattis and ICPC, in the formats legacy and 2025-09, and full ones of Codeforces'
// Polygon, and makes a harness folder for the stock harness of each: cases.yaml, tests, validators and a build script that knows several languages.
// What drover cannot judge as the package's authors say is refused, with file and line.
package problem

// Bounds on a package.
const (
	maxYAML  = 1 << 20  // bytes of one YAML file
	maxFiles = 20_000   // of the whole package
	maxBytes = 64 << 20 // of one file that is no test
	maxNotes = 100      // refusals and notes
)

// File is the name of the file with a package's settings.
const File = "problem.yaml"
