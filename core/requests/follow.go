package requests

import (
	"context"
	"iter"
	"time"

	"drover/core"
)

// EventKind says what an Event tells.
type EventKind string

// The kinds of events.
const (
	EventState  EventKind = "state"  // it is in another state
	EventOutput EventKind = "output" // a piece of what it prints
	EventGap    EventKind = "gap"    // here some of the output is missing: the result has it
	EventReset  EventKind = "reset"  // that attempt was lost: its output begins again
	EventEnd    EventKind = "end"    // it has its result; nothing follows

	EventIdle EventKind = "idle" // nothing more at this moment
	EventAway EventKind = "away" // Redis does not answer; what it knows is told when it does
)

// Event is something that happened to one request.
type Event struct {
	ID     string // names how far its reader is, see Follow
	Kind   EventKind
	State  core.RequestState // of a state and an end
	Stream string            // of an output and a gap: stdout or stderr
	Data   []byte            // of an output: whole characters, unless the program printed other things
	Bytes  int64             // of a gap: how many are missing; 0 is not known
}

// How a follower looks.
const (
	followLook  = 5 * time.Second       // without news: a hint can be lost
	followPause = 50 * time.Millisecond // between two looks: news in between are one
	followFirst = 2 * time.Millisecond  // between the first two, then longer: much is over soon
)

// Follow tells what happens to a request until it has ended: to one who may view it, or
// the submission that it grades. What it prints is told where that is for the actor. It goes on
// after the event with the id last; "" begins with what is left. States that passed
// while nobody read are not told. The sequence ends with an error: NOTFOUND, also once
// the actor may follow no more, UNAVAILABLE if the store is away, or that of ctx.
func (d *Service) Follow(ctx context.Context, a core.Actor, id, last string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		listener := d.Watch.Listen(id)
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

// following is one reader's way through one request's events.
type following struct {
	printing

	service  *Service
	actor    core.Actor
	id       string
	at       cursor
	listener *Listener
	yield    func(Event, error) bool
	stopped  bool // the reader wants no more
	away     bool // Redis did not answer the last time
	rested   time.Duration
}

// send tells an event whose id is where the reader is then.
func (f *following) send(e Event) bool {
	e.ID = f.at.String()
	f.stopped = f.stopped || !f.yield(e, nil)
	return !f.stopped
}

// look tells what is new, and returns false when nothing more will be.
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

// bear takes it that Redis is away for a while.
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

// live tells what is new of a request that has not ended.
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
	if place.Token == "" || !output {
		return true, nil
	}
	if err := f.print(ctx, row.Spec.Key()); err != nil {
		return true, err
	}
	f.listener.Want(core.OutputOf{Key: row.Spec.Key(), Token: f.at.token}, f.read)
	return true, nil
}

// enter begins with the output of an attempt, unless the reader is in it.
func (f *following) enter(generation int, token string) bool {
	if f.at.generation == generation && f.at.token == token {
		return true
	}
	begun := f.at.token != ""
	f.at = cursor{generation: generation, token: token}
	f.printing = newPrinting(&f.at)
	return !begun || f.send(Event{Kind: EventReset})
}

// finish tells the rest of what the attempt printed whose result counts, and the end.
func (f *following) finish(ctx context.Context, row core.Row, output bool) error {
	if f.at.generation == row.Spec.Generation && f.at.state.Terminal() {
		return nil // it was told
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
	f.rested = min(max(2*f.rested, followFirst), followPause)
	rest, look := time.NewTimer(f.rested), time.NewTimer(followLook)
	defer rest.Stop()
	defer look.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
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
