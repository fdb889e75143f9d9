// Package boxrun is drover-run, by which a harness runs its submission: as another user of the VM, in an empty
// folder, with limits of its own. Our executable becomes drover-run when it is started under the name of
// wire.BoxProgram, and then never reaches main. Import the package for its effect.
//
// It only carries streams: the VM's agent runs the command, requested on a socket that only the harness's user can
// open (see package agent). The command gets neither a descriptor nor a variable of the harness.
//
// The package imports little, so that starting it is cheap: see package boot.
package boxrun

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent/wire"
)

// Name is the base name of argv[0] of an executable that is to be drover-run.
var Name = path.Base(wire.BoxProgram)

func init() {
	if len(os.Args) == 0 || path.Base(os.Args[0]) != Name {
		return
	}
	ended := make(chan int)
	go func() { ended <- Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }() // init holds the main thread, which is slow to switch to
	os.Exit(<-ended)
}

// Exit codes besides the command's own, as in timeout(1).
const (
	exitTimeout = 124
	exitFailure = 125
	exitKilled  = 128 + 9 // a limit other than time
)

const usageText = `Usage: drover-run [flags] -- COMMAND [ARGUMENT…]

Runs a command as another user of this VM, who can neither read nor change what the
harness has, in an empty folder, and removes all that it leaves. What was submitted
lies in $DROVER_SUBMISSION, where the command may read it. Only a harness may call it.

Exit code: the command's own; 128+N if signal N ended it; 124 if its time was up, 137
if another limit was reached; 125 if drover-run failed (then --usage gets no line); 126 if the command cannot be
executed, 127 if it is not there.

`

// call is the parsed command line.
type call struct {
	spec  wire.BoxSpec
	stdin string
	usage string
}

// Defaults of the limits. 0 means the VM's.
const (
	defaultTime   = 10 * time.Second
	defaultOutput = 1 << 20
	wallTimes     = 5 // a busy host makes a program slower, not dearer
	wallMore      = 10 * time.Second
)

func parse(args []string, out io.Writer) (*call, error) {
	c := &call{}
	c.spec.CPU, c.spec.Share.Output = defaultTime, defaultOutput
	f := flag.NewFlagSet(Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.DurationVar(&c.spec.CPU, "time", defaultTime, "the computing `TIME` of all its processes together; 0 is the harness's own")
	f.DurationVar(&c.spec.Share.Timeout, "wall", 0, "its `TIME` by the clock; five times --time and 10s if not given")
	f.Var((*size)(&c.spec.Share.Memory), "memory", "the memory of all its processes together, such as 64M; `SIZE` of the VM's if not given")
	f.Var((*size)(&c.spec.Share.Output), "output", "most bytes of standard output, and of standard error: `SIZE`; 1M if not given")
	f.IntVar(&c.spec.Share.Pids, "pids", 0, "the `NUMBER` of its processes and threads at a time; the VM's if not given")
	f.StringVar(&c.stdin, "stdin", "", "its standard input: a `FILE`, or - for that of drover-run; empty if not given")
	f.StringVar(&c.spec.With, "with", "", "begin with what a run with --save `NAME` has left, in place of an empty folder")
	f.StringVar(&c.spec.Save, "save", "", "keep what the run leaves in its folder as the state `NAME` (small letters), for --with")
	f.Func("env", "an environment variable `NAME=VALUE`; repeatable", func(v string) error {
		c.spec.Env = append(c.spec.Env, v)
		return nil
	})
	f.StringVar(&c.usage, "usage", "", "add to this `FILE` a line of JSON that says how it ended and what it used")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(out, usageText)
		f.SetOutput(out)
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, err
	case f.NArg() == 0:
		return nil, errors.New("there is no command to run: drover-run [flags] -- COMMAND")
	case c.spec.CPU < 0, c.spec.Share.Timeout < 0, c.spec.Share.Pids < 0:
		return nil, errors.New("a limit is above 0")
	}
	if c.spec.Share.Timeout == 0 && c.spec.CPU > 0 {
		c.spec.Share.Timeout = wallTimes*c.spec.CPU + wallMore
	}
	c.spec.Stretch = wire.MaxStretch * c.spec.Share.Timeout
	c.spec.Args = f.Args()
	return c, nil
}

// size is a number of bytes, or of K, M or G of them.
type size int64

// String writes it in bytes.
func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }

// Set reads it.
func (s *size) Set(text string) error {
	const units = "KMG"
	digits := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "I")
	shift := 0
	if n := len(digits); n > 0 {
		if at := strings.IndexByte(units, digits[n-1]); at >= 0 {
			digits, shift = digits[:n-1], 10*(at+1)
		}
	}
	const most = 1 << 40
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n <= 0 || n > most>>shift {
		return fmt.Errorf("%q is no size above 0, such as 64M", text)
	}
	*s = size(n << shift)
	return nil
}

// ended is the line of --usage.
type ended struct {
	Exit            int    `json:"exit"` // that of drover-run
	Signal          string `json:"signal,omitempty"`
	Limit           string `json:"limit,omitempty"` // that was reached: time, memory, pids, output
	CPUMs           int64  `json:"cpu_ms"`
	WallMs          int64  `json:"wall_ms"`
	LostMs          int64  `json:"lost_ms,omitempty"` // of that: lost to others on a busy host, and not counted by the limit
	MemoryPeakBytes int64  `json:"memory_peak_bytes"`
	HarnessHeldBy   string `json:"harness_held_by"` // what protects the harness from the command: user, landlock, peer; "" is nothing
	Error           string `json:"error,omitempty"` // why nothing ran, or could not be kept

	failed bool // set if drover-run itself failed: then no line is written, so that a command cannot fake one
}

// Main is the program: it runs what args say and returns its exit code.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	c, err := parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", Name, err)
		return exitFailure
	}
	var usage *os.File
	if c.usage != "" { // now, while no process of the box could put another file in its place
		if usage, err = os.OpenFile(c.usage, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			fmt.Fprintf(stderr, "%s: --usage: %v\n", Name, err)
			return exitFailure
		}
	}
	e := c.do(stdin, stdout, stderr)
	if e.Error != "" {
		fmt.Fprintf(stderr, "%s: %s\n", Name, e.Error)
	}
	if usage == nil || e.failed {
		return e.Exit
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = usage.Write(append(line, '\n'))
	}
	if err = errors.Join(err, usage.Close()); err != nil {
		fmt.Fprintf(stderr, "%s: --usage: %v\n", Name, err)
		return exitFailure
	}
	return e.Exit
}

func (c *call) do(stdin, stdout, stderr *os.File) ended {
	failed := func(err error) ended {
		e := ended{Exit: exitFailure, Error: err.Error(), failed: true}
		var u wire.Unstarted
		if errors.As(err, &u) {
			e.Exit, e.failed = u.Exit, false
		}
		return e
	}
	var input io.Reader
	switch c.stdin {
	case "":
	case "-":
		input = stdin
	default:
		f, err := os.Open(c.stdin)
		if err != nil {
			return failed(fmt.Errorf("--stdin: %w", errors.Unwrap(err)))
		}
		input = f
	}
	exit, err := c.ask(input, stdout, stderr)
	if err != nil {
		return failed(err)
	}
	e := ended{
		Exit: exit.Code, Signal: exit.Signal, Limit: exit.Limit(), CPUMs: exit.CPUMs, WallMs: exit.WallMs, LostMs: exit.LostMs, MemoryPeakBytes: exit.MemoryPeakBytes,
		HarnessHeldBy: exit.HeldBy[wire.LimitHarness],
	}
	if exit.Truncated && (e.Limit == "" || e.Limit == core.LimitTime) { // as the stock harness judges
		e.Limit = core.LimitOutput
	}
	switch e.Limit {
	case "":
	case core.LimitTime:
		e.Exit = exitTimeout
	default:
		e.Exit = exitKilled
	}
	if e.Limit == "" && exit.Unsaved != "" {
		e.Exit, e.Error = exitFailure, "what it left could not be kept: "+exit.Unsaved
	}
	return e
}
