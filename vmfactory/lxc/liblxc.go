//go:build lxc && cgo && linux

package lxc

// #cgo pkg-config: lxc
// #cgo CFLAGS: -std=gnu11 -Wall -Wextra
import "C" // starter.c

import golxc "github.com/lxc/go-lxc"

// linked tells that the program has liblxc, and with it the starter.
const linked = true

// version is liblxc's.
func version() string { return golxc.Version() }
