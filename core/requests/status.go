package requests

import (
	"context"

	"drover/core"
)

// Status is how far a request has come, for an actor who may follow it.
type Status struct {
	State   core.RequestState `json:"state"`
	Attempt int               `json:"attempt,omitempty"`  // the current one; 0 while the request waits, and after its end
	Since   int64             `json:"since_ms,omitempty"` // when that attempt began, ms since 1970
	Output  bool              `json:"output"`             // the actor may see its output
	Waiting *Waiting          `json:"waiting,omitempty"`  // nil unless it waits
	// Tests are those of the current attempt, in order, if any has ended and drover carries them out itself. They say no
	// more than the result will, and are for everybody who may see that.
	Tests []core.Mark `json:"-"`
}

// Status returns how far a request has come. The actor must be allowed to see it, or the submission that it grades.
// Returns NOTFOUND.
func (d *Service) Status(ctx context.Context, a core.Actor, id string) (Status, error) {
	row, output, err := d.watched(ctx, a, id)
	if err != nil || row.Result != nil {
		return Status{State: row.State, Output: output}, err
	}
	place, err := d.Queue.Locate(ctx, row.Spec.Key())
	if err != nil {
		return Status{}, err
	}
	s := Status{State: place.State, Output: output}
	if s.State == "" {
		s.State = row.State
	}
	if !waits(s.State) {
		s.Attempt, s.Since = place.Attempts+1, place.Since
		if place.Token != "" && showsTests(&row.Spec) {
			var c core.OutputChunk
			c, _, err = d.Output.Marks(ctx, row.Spec.Key(), place.Token)
			s.Tests = core.ReadMarks(c.Data)
		}
		return s, err
	}
	s.Waiting, err = d.waiting(ctx, row.Spec, &place, watches(a))
	return s, err
}

// Waiting returns why a request waits; nil if it does not wait. The actor must be allowed to see it, or the
// submission that it grades. Returns NOTFOUND.
func (d *Service) Waiting(ctx context.Context, a core.Actor, id string) (*Waiting, error) {
	s, err := d.Status(ctx, a, id)
	return s.Waiting, err
}
