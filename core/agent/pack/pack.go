// Package pack encodes messages between processes of the same version as numbers and counted texts, one after the
// other, with an end mark: in a process that has just started, decoding JSON takes longer than what the message is
// about. It imports only what initialises early.
package pack

import (
	"encoding/binary"
	"errors"
	"unsafe"
)

// endMark follows a whole message.
const endMark = "drover."

var errCut = errors.New("the message is cut short or not whole")

// Writer appends to a message.
type Writer struct{ b []byte }

// Number appends a number.
func (w *Writer) Number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

// Signed appends a number that may be negative.
func (w *Writer) Signed(n int64) { w.b = binary.AppendVarint(w.b, n) }

// Text appends a text.
func (w *Writer) Text(s string) {
	w.Number(uint64(len(s)))
	w.b = append(w.b, s...)
}

// Texts appends a list of texts.
func (w *Writer) Texts(all []string) {
	w.Number(uint64(len(all)))
	for _, s := range all {
		w.Text(s)
	}
}

// Flag appends a bit.
func (w *Writer) Flag(on bool) {
	n := uint64(0)
	if on {
		n = 1
	}
	w.Number(n)
}

// End returns the message.
func (w *Writer) End() []byte {
	w.Text(endMark)
	return w.b
}

// Reader reads a message. After the first error everything that it reads is empty.
type Reader struct {
	b   []byte
	bad bool
}

// NewReader reads a message, whose memory the texts share that it returns.
func NewReader(b []byte) *Reader { return &Reader{b: b} }

// Number reads a number.
func (r *Reader) Number() uint64 {
	n, size := binary.Uvarint(r.b)
	return took(r, n, size)
}

// Signed reads a number that may be negative.
func (r *Reader) Signed() int64 {
	n, size := binary.Varint(r.b)
	return took(r, n, size)
}

func took[T any](r *Reader, n T, size int) T {
	if size <= 0 {
		r.b, r.bad = nil, true
		var none T
		return none
	}
	r.b = r.b[size:]
	return n
}

// Bytes reads a text as bytes.
func (r *Reader) Bytes() []byte {
	n := r.Number()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	text := r.b[:n]
	r.b = r.b[n:]
	return text
}

// Text reads a text.
func (r *Reader) Text() string {
	b := r.Bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// Count reads the number of items that follow, each at least one byte long.
func (r *Reader) Count() int {
	n := r.Number()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n) //nolint:gosec // at most the length of the message
}

// Texts reads a list of texts.
func (r *Reader) Texts() []string {
	n := r.Count()
	if n == 0 {
		return nil
	}
	all := make([]string, n)
	for i := range all {
		all[i] = r.Text()
	}
	return all
}

// Flag reads a bit.
func (r *Reader) Flag() bool { return r.Number() == 1 }

// End returns an error unless the whole message was read, and nothing but it.
func (r *Reader) End() error {
	if r.Text() != endMark || r.bad {
		return errCut
	}
	return nil
}
