package intake

import (
	"time"

	"drover/core"
)

// How long, and for how many requests, a refusal as FULL is remembered: this keeps a flood of submits from filling
// the store with refused rows.
const (
	rememberFor  = time.Second
	rememberMost = 10_000
)

// room identifies the requests to which one limit on waiting work may apply.
type room struct {
	pool, submitter string
	priority        core.Priority
}

type refusal struct {
	at  time.Time
	why error
}

func roomOf(s *core.Spec) room { return room{s.Pool, s.Submitter, s.Priority} }

// lately returns FULL if such a request was refused a moment ago.
func (in *Intake) lately(s *core.Spec) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	r, ok := in.full[roomOf(s)]
	if !ok {
		return nil
	}
	if age := in.now().Sub(r.at); age >= 0 && age < rememberFor {
		return r.why
	}
	delete(in.full, roomOf(s))
	return nil
}

func (in *Intake) remember(s *core.Spec, why error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.full == nil || len(in.full) >= rememberMost {
		in.full = map[room]refusal{}
	}
	in.full[roomOf(s)] = refusal{in.now(), why}
}
