// Package examples carries the example assignments, for drover demo.
package examples

import (
	"embed"
	"os"
	"path/filepath"
	"strings"
)

// Files holds one folder for each assignment; README.md says what is in it.
//
//go:embed all:ledger all:brackets all:coins all:guess all:shuffle
var Files embed.FS

// Lacking returns what an assignment needs and this machine does not have where
// VMs of the local provider see it: files by their path, programs by their name.
func Lacking(needs []string) []string {
	var lacks []string
	for _, need := range needs {
		at := []string{need}
		if !strings.Contains(need, "/") {
			at = nil
			for _, dir := range []string{"/usr/local/bin", "/usr/bin", "/bin"} {
				at = append(at, filepath.Join(dir, need))
			}
		}
		if !anyFile(at) {
			lacks = append(lacks, need)
		}
	}
	return lacks
}

func anyFile(paths []string) bool {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}
