// Command drover-lab measures and hurts clusters: what nobody needs who runs one, the program drover does not carry. The
// components of its clusters are processes of the drover beside it.
package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover-lab/bench"
	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/core"
)

// heapGrowth is that of a busy drover, so that the queue is measured as it is there.
const heapGrowth = 400

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
	os.Exit(run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program, and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return terminal.Run(ctx, &cli.App{
		Name: "drover-lab", Version: access.Version,
		Usage:    "measure clusters of drover, hurt them, and replay what they ran",
		Commands: commands(),
	}, args, stdin, stdout, stderr)
}

func commands() []*cli.Command {
	return []*cli.Command{bench.Command(drover), drillCommand(), simulateCommand()}
}

// drover is the path of the program whose clusters are measured.
func drover() (string, error) {
	own, err := os.Executable()
	if err == nil {
		own, err = exec.LookPath(filepath.Join(filepath.Dir(own), "drover"))
	}
	return own, core.Wrap(err, core.CodeUnavailable, "", "there is no drover beside this program: make build makes both")
}
