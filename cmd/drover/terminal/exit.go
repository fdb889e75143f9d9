package terminal

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"drover/core"
)

// Exit codes of drover itself. A run's command has its own.
const (
	ExitFault     = 1   // something failed
	ExitUsage     = 2   // wrong flags, arguments or settings
	ExitNotFound  = 3   // no such request, pool or host
	ExitRefused   = 4   // the state or a limit does not allow it; later it may
	ExitNoCluster = 5   // Redis or the store cannot be reached
	ExitDiffers   = 6   // a replay came to something else than what it replays
	ExitTimeout   = 124 // a run exceeded its time limit, as in timeout(1)
	ExitPlatform  = 125 // drover itself could not complete a run
	ExitStopped   = 130 // cancelled, as a shell reports Ctrl-C
	ExitSignal    = 128 // plus the number of the signal that ended a run
)

// ExitCode ends the program with a code and no further message.
type ExitCode int

func (c ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// CodeOf returns the exit code for an error.
func CodeOf(err error) int {
	switch core.CodeOf(err) {
	case core.CodeInvalid, core.CodeLimit:
		return ExitUsage
	case core.CodeNotFound:
		return ExitNotFound
	case core.CodeConflict, core.CodeEnded, core.CodeFull, core.CodeBusy, core.CodeForbidden:
		return ExitRefused
	case core.CodeUnavailable, core.CodeVersion:
		return ExitNoCluster
	case core.CodeStale, core.CodeFenced, core.CodeBadVM, core.CodeInternal:
		return ExitFault
	}
	return ExitFault
}

// UsageError adds where to find the help of a command.
func UsageError(c *cli.Context, err error, _ bool) error {
	return core.Errorf(core.CodeInvalid, "", "%v; see %s --help", err, c.Command.HelpName)
}
