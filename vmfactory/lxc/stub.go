//go:build !lxc || !cgo || !linux

package lxc

// linked tells that the program has liblxc, and with it the starter.
const linked = false

// version is liblxc's.
func version() string { return "" }
