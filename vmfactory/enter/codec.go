package enter

import (
	"syscall"

	"drover/core/agent/pack"
)

// Encode returns the encoded plan.
func (p Plan) Encode() []byte {
	var w pack.Writer
	p.write(&w)
	return w.End()
}

func (p Plan) write(w *pack.Writer) {
	w.Number(uint64(len(p.Steps)))
	for i := range p.Steps {
		s := &p.Steps[i]
		for _, text := range []string{string(s.Do), s.Path, s.From, s.Type, s.Text, string(s.Raw)} {
			w.Text(text)
		}
		w.Number(s.Bits)
		w.Number(uint64(len(s.Num)))
		for _, n := range s.Num {
			w.Number(n)
		}
		w.Texts(s.Args)
		w.Texts(s.Env)
		w.Flag(s.Deep)
		w.Flag(s.Maybe)
	}
}

func decodePlan(text []byte) (Plan, error) {
	r := pack.NewReader(text)
	p := readPlan(r)
	return p, r.End()
}

func readPlan(r *pack.Reader) Plan {
	p := Plan{Steps: make([]Step, r.Count())}
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Do, s.Path, s.From, s.Type, s.Text, s.Raw = Verb(r.Text()), r.Text(), r.Text(), r.Text(), r.Text(), r.Bytes()
		s.Bits = r.Number()
		s.Num = make([]uint64, r.Count())
		for k := range s.Num {
			s.Num[k] = r.Number()
		}
		s.Args, s.Env = r.Texts(), r.Texts()
		s.Deep, s.Maybe = r.Flag(), r.Flag()
	}
	return p
}

// Encode returns the encoded request.
func (q Request) Encode() []byte {
	var w pack.Writer
	w.Number(uint64(q.Flags))
	w.Flag(q.Cgroup)
	q.Plan.write(&w)
	return w.End()
}

func decodeRequest(text []byte) (Request, error) {
	r := pack.NewReader(text)
	q := Request{Flags: uintptr(r.Number()), Cgroup: r.Flag(), Plan: readPlan(r)}
	return q, r.End()
}

func (a Answer) encode() []byte {
	var w pack.Writer
	w.Number(uint64(a.PID)) //nolint:gosec // a pid, or 0
	w.Number(uint64(a.Errno))
	w.Text(a.Text)
	return w.End()
}

// DecodeAnswer reads an answer.
func DecodeAnswer(text []byte) (Answer, error) {
	r := pack.NewReader(text)
	a := Answer{PID: int(r.Number()), Errno: syscall.Errno(r.Number()), Text: r.Text()} //nolint:gosec // a pid
	return a, r.End()
}
