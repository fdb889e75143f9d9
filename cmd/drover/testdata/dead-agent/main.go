// Program dead-agent is an agent that ends as soon as it starts.
package main

import (
	"fmt"
	"os"
)

// version is set by the build.
var version string

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version)
		return
	}
	os.Exit(1)
}
