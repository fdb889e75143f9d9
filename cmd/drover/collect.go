package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// How far the heap may grow between two collections, in percent of what is in use. An idle
// process keeps its heap small. A busy runner's is so small that it would be collected some
// hundred times a second: it may grow further.
const (
	idleGrowth = 100
	busyGrowth = 400
)

// A process whose collections come sooner than busyWithin is busy; one whose collections come later
// than idleAfter is idle. Growth moves the second by a factor of busyGrowth / idleGrowth: the two
// are further apart, so that nothing goes back and forth.
const (
	busyWithin = time.Second
	idleAfter  = 8 * time.Second
)

// started is when a component has long started: what that took is garbage by then.
const started = idleAfter + 2*time.Second

// collector lets the heap of a busy process grow further than that of an idle one.
type collector struct {
	last   time.Time // the last collection
	growth int
}

// startCollector begins, with a process that is busy: it starts. GOGC in the environment wins.
func startCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	c := &collector{last: time.Now(), growth: busyGrowth}
	debug.SetGCPercent(c.growth)
	c.arm()
	time.AfterFunc(started, runtime.GC)
}

// arm has the next collection noticed. The runtime collects every two minutes at least, so a process
// that was busy is found idle, too.
func (c *collector) arm() {
	// Bigger than what the runtime puts together with others, which live longer.
	unused := new([64]byte)
	runtime.AddCleanup(unused, func(c *collector) {
		if growth := c.collected(time.Now()); growth != c.growth {
			c.growth = growth
			debug.SetGCPercent(growth)
		}
		c.arm()
	}, c)
}

// collected returns the growth that is right after a collection at that time.
func (c *collector) collected(now time.Time) int {
	since := now.Sub(c.last)
	c.last = now
	switch {
	case since < busyWithin:
		return busyGrowth
	case since > idleAfter:
		return idleGrowth
	}
	return c.growth
}
