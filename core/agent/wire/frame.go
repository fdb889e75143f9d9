package wire

import (
	"encoding/binary"
	"io"

	"drover/core"
)

// Kind is the first byte of a frame of a run's answer.
type Kind byte

// The kinds of frames.
const (
	KindAlive   Kind = iota // nothing to say, still there
	KindStdout              // bytes
	KindStderr              // bytes
	KindExit                // Exit as JSON; the last frame
	KindFault               // Refusal as JSON: the VM itself failed; the last frame
	KindFile                // Taken as JSON: a file's head, its bytes follow
	KindData                // bytes of the last KindFile
	KindSkipped             // Skipped as JSON: what was not taken
	KindTaken               // empty: all of a collection was sent; the last frame
	KindClosed              // empty: standard output has no writer any more, and the command goes on
	KindLate                // empty: the time by the clock is up, and a Loss may put that off
)

// FrameHead is the bytes before a frame's payload: its kind and its length.
const FrameHead = 5

// PutFrameHead writes the head of a frame to b.
func PutFrameHead(b []byte, kind Kind, length int) {
	b[0] = byte(kind)
	binary.BigEndian.PutUint32(b[1:FrameHead], uint32(length)) //nolint:gosec // at most MaxFrame
}

// ReadFrame reads one frame into buf, which must hold MaxFrame bytes. The
// payload is valid until the next call. Returns io.EOF only between frames and
// BADVM for what is not a frame.
func ReadFrame(r io.Reader, buf []byte) (Kind, []byte, error) {
	head := buf[:FrameHead]
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	kind, length := Kind(head[0]), binary.BigEndian.Uint32(head[1:])
	if kind > KindLate || length > MaxFrame {
		return 0, nil, core.Errorf(core.CodeBadVM, "", "the agent sent a frame of kind %d with %d bytes, which is none", kind, length)
	}
	payload := buf[:length]
	if _, err := io.ReadFull(r, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return kind, payload, nil
}
