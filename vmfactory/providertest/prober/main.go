// Command prober is the probes as a program of their own: small and static, so that
// a VM gets it in a moment and keeps it in little room. A test binary could run them as
// well, and is ten times as large with the race detector, which sees nothing in a VM.
package main

import (
	"fmt"
	"os"

	_ "drover/vmfactory/providertest/probe" // never returns in a probe
)

func main() {
	fmt.Fprintln(os.Stderr, "prober: the conformance suite starts this in VMs; there is nothing to call here")
	os.Exit(2)
}
