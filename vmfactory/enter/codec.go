package enter

import (
	"encoding/binary"
	"errors"
	"syscall"
	"unsafe"
)

// Plans, requests and answers are encoded as numbers and counted texts, one after the other, with an end mark: in a
// process that has just started, decoding JSON takes longer than carrying out half of a plan.

// endMark follows a whole message.
const endMark = "drover."

var errCut = errors.New("the message is cut short or not whole")

type writer struct{ b []byte }

func (w *writer) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *writer) text(s string) {
	w.number(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) texts(all []string) {
	w.number(uint64(len(all)))
	for _, s := range all {
		w.text(s)
	}
}

func (w *writer) flag(on bool) {
	n := uint64(0)
	if on {
		n = 1
	}
	w.number(n)
}

func (w *writer) end() []byte {
	w.text(endMark)
	return w.b
}

// reader reads what a writer wrote. After the first error everything that it reads is empty.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	text := r.b[:n]
	r.b = r.b[n:]
	return text
}

// text reads a text, which shares the memory of the message.
func (r *reader) text() string {
	b := r.bytes()
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// count reads the number of items that follow, each at least one byte long.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return 0
	}
	return int(n) //nolint:gosec // at most the length of the message
}

func (r *reader) texts() []string {
	all := make([]string, r.count())
	for i := range all {
		all[i] = r.text()
	}
	return all
}

func (r *reader) end() error {
	if r.text() != endMark || r.bad {
		return errCut
	}
	return nil
}

// Encode returns the encoded plan.
func (p Plan) Encode() []byte {
	var w writer
	w.plan(p)
	return w.end()
}

func (w *writer) plan(p Plan) {
	w.number(uint64(len(p.Steps)))
	for i := range p.Steps {
		s := &p.Steps[i]
		for _, text := range []string{string(s.Do), s.Path, s.From, s.Type, s.Text, string(s.Raw)} {
			w.text(text)
		}
		w.number(s.Bits)
		w.number(uint64(len(s.Num)))
		for _, n := range s.Num {
			w.number(n)
		}
		w.texts(s.Args)
		w.texts(s.Env)
		w.flag(s.Deep)
		w.flag(s.Maybe)
	}
}

func decodePlan(text []byte) (Plan, error) {
	r := reader{b: text}
	p := r.plan()
	return p, r.end()
}

func (r *reader) plan() Plan {
	p := Plan{Steps: make([]Step, r.count())}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Do, s.Path, s.From, s.Type, s.Text, s.Raw = Verb(r.text()), r.text(), r.text(), r.text(), r.text(), r.bytes()
		s.Bits = r.number()
		s.Num = make([]uint64, r.count())
		for k := range s.Num {
			s.Num[k] = r.number()
		}
		s.Args, s.Env = r.texts(), r.texts()
		s.Deep, s.Maybe = r.number() == 1, r.number() == 1
	}
	return p
}

// Encode returns the encoded request.
func (q Request) Encode() []byte {
	var w writer
	w.number(uint64(q.Flags))
	w.flag(q.Cgroup)
	w.plan(q.Plan)
	return w.end()
}

func decodeRequest(text []byte) (Request, error) {
	r := reader{b: text}
	q := Request{Flags: uintptr(r.number()), Cgroup: r.number() == 1, Plan: r.plan()}
	return q, r.end()
}

func (a Answer) encode() []byte {
	var w writer
	w.number(uint64(a.PID)) //nolint:gosec // a pid, or 0
	w.number(uint64(a.Errno))
	w.text(a.Text)
	return w.end()
}

// DecodeAnswer reads an answer.
func DecodeAnswer(text []byte) (Answer, error) {
	r := reader{b: text}
	a := Answer{PID: int(r.number()), Errno: syscall.Errno(r.number()), Text: r.text()} //nolint:gosec // a pid
	return a, r.end()
}
