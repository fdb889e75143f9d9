//go:build !amd64

package probe

func machineCalls() error { return nil }
