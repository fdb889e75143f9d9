//go:build lxc && cgo && linux

package lxc

// #cgo pkg-config: lxc
// #cgo CFLAGS: -std=gnu11 -Wall -Wextra
import "C" // starter.c

import golxc "github.com/lxc/go-lxc"

// linked reports that the program has liblxc, and with it the starter.
const linked = true

// version returns liblxc's version.
func version() string { return golxc.Version() }
