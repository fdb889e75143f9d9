package enter

import (
	"fmt"
	"os"
)

// init never returns in a process that was started under one of our names.
func init() {
	name := ""
	switch {
	case len(os.Args) == 2 && os.Args[1] == EnterName: // its parent could not choose argv[0]
		name = EnterName
	case len(os.Args) > 0:
		name = os.Args[0]
	}
	var err error
	switch name {
	case SpawnName:
		err = serve()
	case EnterName:
		err = carryOut(false)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
