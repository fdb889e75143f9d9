package server

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"drover/core/agent/wire"
)

// Room in front of a frame for the size of its chunk and the frame's own head,
// and behind it for the chunk's end, so that a frame is one write.
const (
	chunkHead = 6 // "xxxx\r\n"
	chunkTail = 2
	roomAhead = chunkHead + wire.FrameHead
	readSize  = 32 << 10
)

// frames writes a run's answer to the host, one frame per chunk. The head of the answer is sent with the first frame.
type frames struct {
	cut atomic.Bool // a stream exceeded its limit

	mu    sync.Mutex
	out   *os.File
	head  []byte // of the answer, until it is sent
	said  bool   // something was sent since the last keepalive
	inert bool   // the host is gone
}

func newFrames(out *os.File) *frames {
	return &frames{out: out, head: []byte("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n" +
		"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n")}
}

// send writes the payload in buf behind roomAhead bytes, with room for chunkTail behind it. It reports whether the
// host accepted it.
func (f *frames) send(kind wire.Kind, buf []byte, n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(kind, buf, n)
}

func (f *frames) write(kind wire.Kind, buf []byte, n int) bool {
	if f.inert {
		return false
	}
	copy(buf, fmt.Appendf(make([]byte, 0, chunkHead), "%04x\r\n", wire.FrameHead+n))
	wire.PutFrameHead(buf[chunkHead:], kind, n)
	end := roomAhead + n
	copy(buf[end:], "\r\n")
	chunk := buf[:end+chunkTail]
	if f.head != nil {
		chunk, f.head = append(f.head, chunk...), nil
	}
	_ = f.out.SetWriteDeadline(time.Now().Add(wire.Stall))
	if _, err := f.out.Write(chunk); err != nil {
		f.inert = true
		return false
	}
	f.said = true
	return true
}

// alive sends a keepalive if nothing was sent since the last one. It does not wait for a frame that is being written,
// which has a deadline.
func (f *frames) alive() bool {
	if !f.mu.TryLock() {
		return true
	}
	defer f.mu.Unlock()
	if f.said {
		f.said = false
		return true
	}
	ok := f.write(wire.KindAlive, make([]byte, roomAhead+chunkTail), 0)
	f.said = false
	return ok
}

// last sends the frame that ends the answer.
func (f *frames) last(kind wire.Kind, body any) {
	text, err := json.Marshal(body)
	if err != nil || len(text) > readSize {
		kind, text = wire.KindFault, []byte(`{"code":"INTERNAL","text":"the end of the run cannot be written as JSON"}`)
	}
	buf := make([]byte, roomAhead+len(text)+chunkTail)
	copy(buf[roomAhead:], text)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.write(kind, buf, len(text)) {
		_, _ = f.out.Write([]byte("0\r\n\r\n"))
	}
}

// A command that prints many small pieces without being given input in between has them carried in fewer: what it costs to
// carry them must not exceed what it costs to print them. One that is given input may be in a conversation, which must not
// wait.
const (
	smallPiece  = 4 << 10 // bytes
	smallPieces = 64      // of them in a row are carried at once
	gatherTime  = time.Millisecond
)

// gather counts the pieces of a stream.
type gather struct {
	small int   // pieces in a row
	fed   int64 // how much input there had been before the first of them
}

// waits counts a piece of n bytes, and reports whether the next one should wait.
func (g *gather) waits(n int, fed int64) bool {
	if g.small++; n >= smallPiece || fed != g.fed {
		g.small, g.fed = 0, fed
	}
	return g.small > smallPieces
}

// pump carries one stream until its last writer is gone. Beyond the limit it counts and discards, and far beyond it
// ends the run.
func (j *job) pump(kind wire.Kind, from *os.File) {
	buf := make([]byte, roomAhead+readSize+chunkTail)
	left, total, end := j.limits.Output, int64(0), wire.OutputEnd(j.limits.Output)
	var pieces gather
	for {
		n, err := from.Read(buf[roomAhead : roomAhead+readSize])
		if n > 0 {
			total += int64(n)
			if keep := min(int64(n), left); keep > 0 {
				left -= keep
				if !j.frames.send(kind, buf, int(keep)) {
					j.stop(causeGone)
				}
			}
			if total > j.limits.Output {
				j.frames.cut.Store(true)
			}
			if total > end {
				j.stop(causeOutput)
			}
			if pieces.waits(n, j.fed.Load()) {
				select {
				case <-time.After(gatherTime):
				case <-j.exited:
				case <-j.stopped:
				}
			}
		}
		if err != nil {
			return // the last writer is gone, or the run was given up
		}
	}
}

// closed tells the host that standard output was closed, unless that is the command's own end: a process closes its files
// when it is ending already.
func (j *job) closed() {
	if !j.closes || j.in != nil {
		return
	}
	select {
	case <-j.exited:
	case <-j.stopped:
	default:
		if !j.agent.tree.ending(j.pid) {
			j.frames.send(wire.KindClosed, make([]byte, roomAhead+chunkTail), 0)
		}
	}
}

// keepAlive shows the host that the agent lives, and detects whether the host does.
func (j *job) keepAlive(dead <-chan struct{}) {
	tick := time.NewTicker(wire.Keepalive)
	defer tick.Stop()
	for {
		select {
		case <-dead:
			return
		case <-tick.C:
			if !j.frames.alive() {
				j.stop(causeGone)
			}
		}
	}
}
