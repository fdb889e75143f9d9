// Package examples carries the example assignments, for drover demo.
package examples

import "embed"

// Files holds one folder for each assignment; README.md says what is in it.
//
//go:embed all:ledger
var Files embed.FS
