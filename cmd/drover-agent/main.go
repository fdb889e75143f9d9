// Command drover-agent is the only program of drover in a VM: static, small, and shared by all VMs of a host. A
// provider starts it as the VM's first process, where it carries out the last steps into the VM and becomes the
// agent. It has no other use.
package main

import (
	"fmt"
	"os"

	_ "drover/core/agent/boot"   // never returns in an agent
	_ "drover/core/agent/boxrun" // never returns in drover-run
	_ "drover/vmfactory/enter"   // never returns in a VM's first process
)

// version is set by the build.
var version = "dev"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Fprintln(os.Stdout, version)
		return
	}
	fmt.Fprintln(os.Stderr, "drover-agent: drover's vmfactory starts this in VMs; there is nothing to call here")
	os.Exit(2)
}
