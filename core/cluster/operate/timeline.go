package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"drover/core"
)

// StepKind is what happened to a request.
type StepKind string

// The steps. A request goes from submitted to recorded; the others are detours.
const (
	StepSubmitted StepKind = "submitted" // by the submitting program's clock
	StepQueued    StepKind = "queued"
	StepClaimed   StepKind = "claimed" // claimed together with a VM; it is being staged
	StepRunning   StepKind = "running"
	StepFinished  StepKind = "finished" // its command ended
	StepRecorded  StepKind = "recorded" // its result is in the store
	StepCancel    StepKind = "cancel"   // somebody cancelled it
	StepReleased  StepKind = "released" // given back, no attempt used
	StepFault     StepKind = "fault"    // platform fault; it is tried again
	StepWithdrawn StepKind = "withdrawn"
	StepChanged   StepKind = "changed" // its pool, priority or limits
)

// Step is one moment in the life of a request.
type Step struct {
	Kind    StepKind `json:"kind"`
	At      int64    `json:"at_ms"`
	For     int64    `json:"for_ms"`            // until the next step; for the last step of an unfinished request, until now
	Attempt int      `json:"attempt,omitempty"` // of a recorded result
	By      string   `json:"by,omitempty"`      // owner, host or user
	Text    string   `json:"text,omitempty"`    // what Redis or the store has noted
	Refused bool     `json:"refused,omitempty"` // its result was refused because it came too late
	Gen     int      `json:"generation"`
}

// Timeline is the history of a request, in order of time. It has no content of the request or its result.
type Timeline struct {
	ID         string            `json:"id"`
	Generation int               `json:"generation"`
	Pool       string            `json:"pool"`
	Priority   core.Priority     `json:"priority"`
	Submitter  string            `json:"submitter"`
	Assignment string            `json:"assignment,omitempty"`
	Type       string            `json:"type,omitempty"`  // of job
	Batch      string            `json:"batch,omitempty"` // that it was submitted in
	State      core.RequestState `json:"state"`
	Blame      core.Blame        `json:"blame,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Place      *core.Place       `json:"place,omitempty"` // nil once it has ended
	Steps      []Step            `json:"steps"`
	Cut        bool              `json:"cut"` // some events are missing: deleted, or too far apart
}

// Bounds on reading events for a timeline.
const (
	mostPages = 5               // of a thousand events
	around    = 1 * time.Minute // how far the clocks of programs and Redis may differ
)

// Timeline returns the history of a request, from the remaining events, its attempts and its result. Returns
// FORBIDDEN, INVALID, NOTFOUND, UNAVAILABLE.
func (o *Service) Timeline(ctx context.Context, a core.Actor, id string) (Timeline, error) {
	if err := o.Watch(a); err != nil {
		return Timeline{}, err
	}
	if err := core.CheckName("request id", id); err != nil {
		return Timeline{}, err
	}
	row, err := o.Store.Get(ctx, id)
	if err != nil {
		return Timeline{}, err
	}
	s := row.Spec
	t := Timeline{
		ID: id, Generation: s.Generation, Pool: s.Pool, Priority: s.Priority, Submitter: s.Submitter, Assignment: s.Assignment, Type: s.Type, Batch: s.Batch, State: row.State,
	}
	if row.Result != nil {
		t.Blame, t.Reason = row.Result.Blame, row.Result.Reason
	} else {
		place, err := o.Cluster.Locate(ctx, s.Key())
		if err != nil {
			return t, err
		}
		if place.State != "" {
			t.Place, t.State = &place, place.State
		}
	}
	attempts, err := o.Store.Attempts(ctx, id)
	if err != nil {
		return t, err
	}
	events, cut, err := o.eventsOf(ctx, row)
	if err != nil {
		return t, err
	}
	if cut { // Redis has forgotten the beginning
		known, err := o.remembered(ctx, row)
		if err != nil {
			return t, err
		}
		if len(known) > 0 {
			last := known[len(known)-1].At
			events = slices.DeleteFunc(events, func(s Step) bool { return s.At <= last })
			events = append(known, events...)
			cut = !begun(events)
		}
	}
	t.Cut = cut
	first := Step{Kind: StepSubmitted, At: s.Submitted, By: s.Submitter, Gen: s.Generation}
	t.Steps = inOrder(append([]Step{first}, events...), recorded(attempts, events))
	if !row.State.Terminal() && len(t.Steps) > 0 {
		last := &t.Steps[len(t.Steps)-1]
		last.For = max(0, o.now().UnixMilli()-last.At)
	}
	return t, nil
}

// eventsOf finds the steps of a row's generation in the stream of events.
func (o *Service) eventsOf(ctx context.Context, row core.Row) (steps []Step, cut bool, err error) {
	key := row.Spec.Key()
	after := fmt.Sprint(max(0, row.Spec.Submitted-around.Milliseconds()))
	until := int64(0)
	if row.State.Terminal() {
		until = row.Finished + around.Milliseconds()
	}
	for range mostPages {
		page, err := o.Cluster.Events(ctx, after)
		if err != nil {
			return nil, false, err
		}
		for _, e := range page {
			if until > 0 && e.At > until {
				return steps, !begun(steps), nil
			}
			if kind, ok := stepOf(e, key); ok {
				by := e.By
				if by == "-" {
					by = ""
				}
				steps = append(steps, Step{Kind: kind, At: e.At, By: by, Text: e.Why, Gen: row.Spec.Generation})
			}
			after = e.ID
		}
		const whole = 1000
		if len(page) < whole {
			return steps, !begun(steps), nil
		}
	}
	return steps, true, nil
}

// begun reports whether the events reach back to the request's first.
func begun(steps []Step) bool { return len(steps) > 0 && steps[0].Kind == StepQueued }

// stepOf returns the step that an event means for a request.
func stepOf(e core.Event, key string) (StepKind, bool) {
	for word := range strings.FieldsSeq(e.Claimed) {
		if word == key {
			return StepClaimed, true
		}
	}
	for word := range strings.FieldsSeq(e.Moved) {
		name, outcome, _ := strings.Cut(word, "=")
		if name != key {
			continue
		}
		outcome, _, _ = strings.Cut(outcome, ">")
		switch {
		case core.Outcome(outcome).Fault():
			return StepFault, true
		case core.Outcome(outcome) == core.OutcomeRelease:
			return StepReleased, true
		case e.Op == "cancel":
			return StepCancel, true
		case e.Op == "withdraw":
			return StepWithdrawn, true
		case e.Op == "change":
			return StepChanged, true
		case e.Op == "enqueue" || e.Op == "promote" || e.Op == "unassign":
			return StepQueued, true
		case e.Op == string(core.RequestRunning):
			return StepRunning, true
		}
		return "", false // its end, for which the store has more details
	}
	return "", false
}

// recorded returns the steps that the store has: all of each attempt, less those that events have already. If Redis
// has the time at which the attempt began, its times count from there: its own are by the clocks of other machines.
func recorded(attempts []core.Attempt, events []Step) []Step {
	has := func(gen int, kind StepKind) bool {
		return slices.ContainsFunc(events, func(s Step) bool { return s.Gen == gen && s.Kind == kind })
	}
	var steps []Step
	for i := range attempts {
		r := &attempts[i].Result
		origin, began := r.Times.Submitted, int64(0)
		if claim := lastOf(events, r.Generation, StepClaimed); claim > 0 && attempts[i].Accepted && r.Times.Claimed >= 0 {
			origin, began = claim-r.Times.Claimed, lastOf(events, r.Generation, StepRunning)
		}
		end := max(attempts[i].Recorded, began)
		for _, step := range []struct {
			kind StepKind
			at   int64
		}{{StepClaimed, r.Times.Claimed}, {StepRunning, r.Times.Started}, {StepFinished, r.Times.Finished}} {
			if step.at >= 0 && !has(r.Generation, step.kind) && (step.kind != StepFinished || r.Times.Started >= 0) {
				at := origin + step.at
				if step.kind == StepFinished { // for a short run, Redis may learn of its beginning after its end
					at = max(at, began)
				}
				steps = append(steps, Step{Kind: step.kind, At: at, By: r.Host, Gen: r.Generation})
				end = max(end, at)
			}
		}
		steps = append(steps, Step{
			Kind: StepRecorded, At: end, Attempt: r.Attempt, By: r.Host, Text: string(r.State), Refused: !attempts[i].Accepted, Gen: r.Generation,
		})
	}
	return steps
}

// lastOf returns when a step of a generation last happened, ms; 0 if no event has it.
func lastOf(events []Step, gen int, kind StepKind) (at int64) {
	for _, s := range events {
		if s.Kind == kind && s.Gen == gen {
			at = max(at, s.At)
		}
	}
	return at
}

// inOrder inserts steps of the store between those of Redis, which are in order, and sets how long each took.
func inOrder(steps, stored []Step) []Step {
	for _, step := range stored {
		at := 0
		for i := range steps {
			if steps[i].Gen < step.Gen || steps[i].Gen == step.Gen && (steps[i].At <= step.At || steps[i].Kind == StepSubmitted) {
				at = i + 1
			}
		}
		steps = slices.Insert(steps, at, step)
	}
	for i := range steps[:max(0, len(steps)-1)] {
		if steps[i].Gen == steps[i+1].Gen {
			steps[i].For = max(0, steps[i+1].At-steps[i].At)
		}
	}
	return steps
}
