//go:build !lxc || !cgo || !linux

package lxc

// linked reports that the program has liblxc, and with it the starter.
const linked = false

// version returns liblxc's version.
func version() string { return "" }
