// Package boot turns our executable into a VM's agent: started under the name
// wire.AgentName it never reaches main. Import it for its effect.
//
// A VM waits warm with one agent, hundreds to a host, so what the agent costs
// counts. Go initialises packages in the order of their paths as soon as all that
// they import is ready; this one comes before the heavy ones if it imports
// nothing that sorts late. That is why the agent does without net, net/http,
// archive/tar, regexp, golang.org/x/sys and others: with net/http it would hold
// about 2 MB of its own memory and start in twice the time, as the whole program
// would be initialised first. A test keeps the list of what it may import.
package boot

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"drover/core/agent/server"
	"drover/core/agent/wire"
)

func init() {
	if len(os.Args) == 0 || os.Args[0] != wire.AgentName {
		return
	}
	os.Clearenv()
	ended := make(chan error)
	go func() { ended <- live() }() // init holds the main thread, which is slow to switch to
	if err := <-ended; err != nil {
		fmt.Fprintln(os.Stderr, "drover agent:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// live reads the configuration and serves until the lifeline ends.
func live() error {
	cfg, err := readConfig(os.NewFile(wire.ConfigFD, "config"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if cfg.Lifeline {
		// Waiting in the poller costs no thread.
		if err := syscall.SetNonblock(wire.LifelineFD, true); err != nil {
			return fmt.Errorf("use the lifeline: %w", err)
		}
		go func() {
			_, _ = os.NewFile(wire.LifelineFD, "lifeline").Read(make([]byte, 1)) // however it ends
			cancel()
		}()
	}
	if cfg.Anchor > 0 {
		told := links(wire.AnchorFD) > 0
		go func() {
			adrift(wire.AnchorFD, cfg.Anchor, told)
			cancel()
		}()
	}
	return server.Serve(ctx, wire.ListenerFD, cfg)
}

// adrift returns once a file has lost its last name: the VM's folder is gone, and the host cannot find the VM any
// more. It does not return if the file system does not report the number of names; told means that it did before.
func adrift(fd int, every time.Duration, told bool) {
	for range time.Tick(every) {
		n := links(fd)
		if told && n == 0 {
			return
		}
		told = told || n > 0
	}
}

// links returns how many names a file has; below 0 if that is not known.
func links(fd int) int {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return -1
	}
	return int(st.Nlink) //nolint:gosec // a small number
}

func readConfig(f *os.File) (wire.Config, error) {
	var cfg wire.Config
	defer f.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, wire.MaxConfig))
	if err != nil {
		return cfg, fmt.Errorf("read the configuration: %w", err)
	}
	if cfg, err = wire.DecodeConfig(text); err != nil {
		return cfg, fmt.Errorf("read the configuration: %w", err)
	}
	return cfg, nil
}
