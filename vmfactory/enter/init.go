package enter

import (
	"fmt"
	"os"
)

// init never returns in a process that was started under one of our names.
func init() {
	if len(os.Args) == 0 {
		return
	}
	var err error
	switch os.Args[0] {
	case SpawnName:
		err = serve()
	case EnterName:
		err = carryOut()
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
