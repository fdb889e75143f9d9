package requests

import (
	"context"
	"iter"
	"time"

	"drover/core"
	"drover/core/harness"
)

// EventKind is what an Event is about.
type EventKind string

// The kinds of events.
const (
	EventState  EventKind = "state"  // the request is in another state
	EventOutput EventKind = "output" // a piece of its output
	EventGap    EventKind = "gap"    // some of the output is missing here: the result has it
	EventReset  EventKind = "reset"  // the attempt was lost: its output begins again
	EventTests  EventKind = "tests"  // more of its tests have ended, see Status
	EventEnd    EventKind = "end"    // the request has its result; the last event

	EventIdle EventKind = "idle" // no more events at this moment
	EventAway EventKind = "away" // Redis does not answer; events follow when it does
)

// Event is one change of a request.
type Event struct {
	ID     string // the reader's position, see Follow
	Kind   EventKind
	State  core.RequestState // of EventState and EventEnd
	Stream string            // of EventOutput and EventGap: stdout or stderr
	Data   []byte            // of EventOutput: whole characters, unless the program printed invalid ones
	Bytes  int64             // of EventGap: how many are missing; 0 is not known
}

// Intervals of a follower.
const (
	followLook  = 5 * time.Second       // without news: a hint can be lost
	followPause = 50 * time.Millisecond // between two looks: news in between are combined
	followFirst = 2 * time.Millisecond  // between the first looks, then longer: many requests are short
	followShort = 4                     // how many rests are as short as the first
)

// Follow returns the events of a request until it has ended. The actor must be allowed to view the request, or the
// submission that it grades; output is included if the actor may see it. Follow continues after the event with the id
// last; "" is the first that is left. States that passed while nobody read are left out. The sequence ends with an
// error: NOTFOUND, also when the actor loses the right, UNAVAILABLE if the store is away, or ctx's error.
func (d *Service) Follow(ctx context.Context, a core.Actor, id, last string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		listener := d.Watch.listenPrints(id)
		defer listener.Close()
		f := &following{service: d, actor: a, id: id, at: readCursor(last), listener: listener, yield: yield}
		f.printing = newPrinting(&f.at)
		for {
			going, err := f.look(ctx)
			if err == nil && going && f.send(Event{Kind: EventIdle}) {
				err = f.wait(ctx)
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !going || f.stopped {
				return
			}
		}
	}
}

// following is the state of one reader of one request's events.
type following struct {
	printing

	service  *Service
	actor    core.Actor
	id       string
	at       cursor
	listener *Listener
	yield    func(Event, error) bool
	stopped  bool   // the reader stopped the sequence
	away     bool   // Redis did not answer the last call
	marks    string // of the tests that have ended, as last sent
	rested   time.Duration
	rests    int
}

// send passes on an event, with the reader's position after it as its id.
func (f *following) send(e Event) bool {
	e.ID = f.at.String()
	f.stopped = f.stopped || !f.yield(e, nil)
	return !f.stopped
}

// look sends what is new, and returns false after the last event.
func (f *following) look(ctx context.Context) (bool, error) {
	var row core.Row
	var output bool
	err := f.service.Watch.Look(ctx, func() (err error) {
		row, output, err = f.service.watched(ctx, f.actor, f.id)
		return err
	})
	if err != nil {
		return false, err
	}
	if row.Result != nil {
		return false, f.finish(ctx, row, output)
	}
	going, err := f.live(ctx, row, output)
	return going, f.bear(err)
}

// bear turns an error of Redis into EventAway.
func (f *following) bear(err error) error {
	if !core.Is(err, core.CodeUnavailable) {
		f.away = false
		return err
	}
	if !f.away {
		f.send(Event{Kind: EventAway})
	}
	f.away = true
	return nil
}

// live sends what is new of a request that has not ended.
func (f *following) live(ctx context.Context, row core.Row, output bool) (bool, error) {
	var place core.Place
	err := f.service.Watch.Look(ctx, func() (err error) {
		place, err = f.service.Queue.Locate(ctx, row.Spec.Key())
		return err
	})
	if err != nil {
		return true, err
	}
	if place.State == "" {
		place.State = core.RequestQueued
	}
	if place.Token != "" && output && !f.enter(row.Spec.Generation, place.Token) {
		return false, nil
	}
	if f.at.generation != row.Spec.Generation || f.at.state != place.State {
		f.at.generation, f.at.state = row.Spec.Generation, place.State
		if !f.send(Event{Kind: EventState, State: place.State}) {
			return false, nil
		}
	}
	f.listener.Want(core.OutputOf{}, "")
	if place.Token == "" {
		return true, nil
	}
	last, err := f.tests(ctx, &row.Spec, place.Token)
	if err != nil {
		return true, err
	}
	if output {
		if err := f.print(ctx, row.Spec.Key()); err != nil {
			return true, err
		}
		last = f.read
	}
	if output || showsTests(&row.Spec) {
		f.listener.Want(core.OutputOf{Key: row.Spec.Key(), Token: place.Token}, last)
	}
	return true, nil
}

// tests reports that more tests of an attempt have ended, and returns the position in its output.
func (f *following) tests(ctx context.Context, spec *core.Spec, token string) (last string, err error) {
	if !showsTests(spec) {
		return "", nil
	}
	var c core.OutputChunk
	err = f.service.Watch.Look(ctx, func() (err error) {
		c, last, err = f.service.Output.Marks(ctx, spec.Key(), token)
		return err
	})
	if now := token + " " + string(c.Data); err == nil && len(c.Data) > 0 && now != f.marks {
		f.marks = now
		f.send(Event{Kind: EventTests})
	}
	return last, err
}

// showsTests reports whether a request's tests are told one by one while they run: drover itself carries them out.
func showsTests(spec *core.Spec) bool {
	if spec.Harness == nil {
		return false
	}
	input, err := harness.ParseInput(spec.Input)
	return err == nil && input.Stock
}

// enter starts the output of an attempt, unless the reader is in it already.
func (f *following) enter(generation int, token string) bool {
	if f.at.generation == generation && f.at.token == token {
		return true
	}
	begun := f.at.token != ""
	f.at = cursor{generation: generation, token: token}
	f.printing = newPrinting(&f.at)
	return !begun || f.send(Event{Kind: EventReset})
}

// finish sends the remaining output of the attempt whose result counts, and the end.
func (f *following) finish(ctx context.Context, row core.Row, output bool) error {
	if f.at.generation == row.Spec.Generation && f.at.state.Terminal() {
		return nil // it was sent
	}
	if token := row.Result.Token; output && token != "" {
		if !f.enter(row.Spec.Generation, token) {
			return nil
		}
		f.left = map[string]string{streamOut: row.Result.Stdout, streamErr: row.Result.Stderr}
		if err := f.bear(f.print(ctx, row.Spec.Key())); err != nil {
			return err
		}
		if f.stopped || !f.rest() {
			return nil
		}
	}
	f.at.generation, f.at.state = row.Spec.Generation, row.State
	f.send(Event{Kind: EventEnd, State: row.State})
	return nil
}

// wait returns when it is time to look again.
func (f *following) wait(ctx context.Context) error {
	if f.rests++; f.rests <= followShort {
		f.rested = followFirst
	} else {
		f.rested = min(2*f.rested, followPause)
	}
	var first <-chan struct{} // the first output does not wait
	if f.at.out+f.at.err == 0 {
		first = f.listener.Printed()
	}
	rest, look := time.NewTimer(f.rested), time.NewTimer(followLook)
	defer rest.Stop()
	defer look.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-first:
		return nil
	case <-rest.C:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.listener.News():
	case <-look.C:
	}
	return nil
}
