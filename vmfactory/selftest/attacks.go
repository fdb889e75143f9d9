package selftest

import (
	"fmt"
	"strings"
	"time"

	"drover/core"
	"drover/core/agent"
	"drover/core/agent/wire"
)

// Limits of the attacked VM: so small that every attack soon meets them, and that a host that enforces nothing is not
// harmed.
var limits = core.Limits{
	Timeout: 10 * time.Second, Memory: 48 << 20, Disk: 8 << 20, FileSize: 8 << 20, Pids: 32, OpenFiles: 64, Output: 64 << 10,
}

// through is what an attack prints after exceeding its limit several times over.
const through = "got through"

// attack is a program that uses only the shell's builtins, because the image may have nothing else, and the judgement
// of its run.
type attack struct {
	name   string
	script string
	judge  func(*trial, run) (core.Verdict, string)
}

// run is the result of an attack.
type run struct {
	agent.Exit
	stdout string
	bytes  int64 // received from both streams
}

// block makes x half a megabyte.
const block = `x=0123456789abcdef; while [ ${#x} -lt 524288 ]; do x=$x$x; done; `

var attacks = []attack{
	{"fork bomb", `trap '' TERM; i=0; while [ $i -lt 160 ]; do sh -c 'kill -STOP $$' & i=$((i+1)); done; echo got through`, (*trial).processes},
	{"network", `while read -r line; do echo "$line"; done < /proc/net/dev; while read -r line; do echo "route $line"; done < /proc/net/route`, (*trial).network},
	{"output flood", block + `while :; do printf %s "$x"; printf %s "$x" >&2; done`, (*trial).output},
	{"disk fill", block + `for d in /tmp /var/tmp /dev/shm "$HOME" .; do
		i=0; while [ $i -lt 64 ] && printf %s "$x" > "$d/fill$i"; do i=$((i+1)); done
		[ $i -lt 64 ] || echo got through in $d
		while [ $i -ge 0 ]; do [ ! -f "$d/fill$i" ] || : > "$d/fill$i"; i=$((i-1)); done
	done 2> /dev/null; echo tried`, (*trial).disk},
	{"memory hog", block + `while [ ${#x} -lt 67108864 ]; do x=$x$x; done; echo got through; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`, (*trial).memory},
}

func (t *trial) processes(r run) (core.Verdict, string) {
	most := 3 * limits.Pids // providers allow some more for threads of the agent
	switch {
	case t.peak > most:
		return core.VerdictFail, fmt.Sprintf("%d processes were alive, and the limit is %d", t.peak, limits.Pids)
	case strings.Contains(r.stdout, through) && r.Limit() == "":
		return core.VerdictFail, fmt.Sprintf("a program could start 160 processes, and the limit is %d", limits.Pids)
	case r.HeldBy[core.LimitPids] == wire.HeldByWatchdog:
		return core.VerdictWeak, "only a watchdog holds it, which comes a moment late"
	}
	return core.VerdictHeld, ""
}

// network looks for any way out. Only the VM's own loopback may exist.
func (t *trial) network(r run) (core.Verdict, string) {
	if r.Code != 0 || !strings.Contains(r.stdout, "lo:") {
		return core.VerdictWeak, "the VM does not say which network it has"
	}
	for line := range strings.Lines(r.stdout) {
		line = strings.TrimSpace(line)
		name, counts, isDevice := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "route") && !strings.HasPrefix(line, "route Iface"):
			return core.VerdictFail, "a VM of a pool without network has a route: " + line
		case isDevice && name != "lo" && !strings.ContainsAny(name, " |") && !idle(counts):
			return core.VerdictFail, "a VM of a pool without network has the interface " + name
		}
	}
	return core.VerdictHeld, ""
}

// idle reports whether an interface has carried nothing: the kernel gives every namespace some unused ends of
// tunnels.
func idle(counts string) bool { return strings.Trim(counts, " 0") == "" }

func (t *trial) output(r run) (core.Verdict, string) {
	switch {
	case r.bytes > 2*limits.Output:
		return core.VerdictFail, fmt.Sprintf("%d bytes of output came, and the limit is %d of each stream", r.bytes, limits.Output)
	case !r.Truncated || !r.OutputExceeded && !r.TimedOut:
		return core.VerdictFail, "a program that prints without end was not stopped: " + ending(r)
	}
	return core.VerdictHeld, ""
}

func (t *trial) disk(r run) (core.Verdict, string) {
	_, where, got := strings.Cut(r.stdout, through)
	switch {
	case got:
		where, _, _ = strings.Cut(where, "\n")
		return core.VerdictFail, fmt.Sprintf("a program could write 32 MiB%s, and the limit is %d MiB", where, limits.Disk>>20)
	case !strings.Contains(r.stdout, "tried") && r.Limit() != core.LimitMemory:
		return core.VerdictWeak, "it could not be tried: " + ending(r)
	}
	return core.VerdictHeld, ""
}

func (t *trial) memory(r run) (core.Verdict, string) {
	watched := r.HeldBy[core.LimitMemory] == wire.HeldByWatchdog
	switch {
	case strings.Contains(r.stdout, through) && r.Limit() != core.LimitMemory:
		return core.VerdictFail, fmt.Sprintf("a program could have 64 MiB of memory and more, and the limit is %d MiB", limits.Memory>>20)
	case watched:
		return core.VerdictWeak, "only a watchdog holds it, which comes a moment late: not for hostile code"
	case r.TimedOut:
		return core.VerdictWeak, "it could not be tried in time"
	case r.Code == 0:
		return core.VerdictFail, "a program that asks for more and more memory ended well: " + ending(r)
	}
	return core.VerdictHeld, ""
}

func ending(r run) string {
	if limit := r.Limit(); limit != "" {
		return "it ended at its limit on " + limit
	}
	return fmt.Sprintf("it ended with exit code %d", r.Code)
}
