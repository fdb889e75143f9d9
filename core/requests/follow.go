package requests

import (
	"context"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// EventKind says what an Event tells.
type EventKind string

// The kinds of events.
const (
	EventState  EventKind = "state"  // it is in another state
	EventOutput EventKind = "output" // a piece of what it prints
	EventReset  EventKind = "reset"  // that attempt was lost: its output begins again
	EventEnd    EventKind = "end"    // it has its result; nothing follows
)

// Event is something that happened to one request.
type Event struct {
	ID     string            `json:"-"` // names how far its reader is, see Follow
	Kind   EventKind         `json:"-"`
	State  core.RequestState `json:"state,omitempty"`  // of a state and an end
	Stream string            `json:"stream,omitempty"` // of output: stdout or stderr
	Data   []byte            `json:"-"`                // of output
}

// How a follower looks.
const (
	followLook  = 5 * time.Second       // without news: a hint can be lost
	followPause = 50 * time.Millisecond // between two looks: news in between are one
)

// cursor is how far a reader is.
type cursor struct {
	generation int
	token      string // of the attempt whose output it reads; "" for none yet
	after      string // position there
	state      core.RequestState
}

// mark is the form of an event's id. It holds nothing that a header could not.
var mark = regexp.MustCompile(`^([0-9]{1,6})~([0-9.]{0,40})~([0-9-]{0,40})~([a-z_]{0,20})$`)

func (c cursor) String() string {
	return strings.Join([]string{strconv.Itoa(c.generation), c.token, c.after, string(c.state)}, "~")
}

// readCursor reads an event's id. What is none begins anew.
func readCursor(id string) cursor {
	m := mark.FindStringSubmatch(id)
	if m == nil {
		return cursor{}
	}
	generation, err := strconv.Atoi(m[1])
	if err != nil {
		return cursor{}
	}
	return cursor{generation: generation, token: m[2], after: m[3], state: core.RequestState(m[4])}
}

// Follow tells what happens to a request until it has ended: to one who may view it, or
// the submission that it grades. What it prints is told where that is for the actor. It goes on
// after the event with the id last; "" begins with what is left. States that passed
// while nobody read are not told. The sequence ends with an error: NOTFOUND, also once
// the actor may follow no more, UNAVAILABLE, or that of ctx.
func (d *Desk) Follow(ctx context.Context, a core.Actor, id, last string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		listener := d.Watch.Listen(id)
		defer listener.Close()
		f := &following{desk: d, actor: a, id: id, at: readCursor(last), listener: listener, yield: yield}
		for {
			going, err := f.look(ctx)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !going {
				return
			}
			if err := f.wait(ctx); err != nil {
				yield(Event{}, err)
				return
			}
		}
	}
}

// following is one reader's way through one request's events.
type following struct {
	desk     *Desk
	actor    core.Actor
	id       string
	at       cursor
	listener *Listener
	yield    func(Event, error) bool
	stopped  bool // the reader wants no more
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
	var place core.Place
	err := f.desk.Watch.looking(ctx, func() (err error) {
		row, output, err = f.desk.watched(ctx, f.actor, f.id)
		if err == nil && row.Result == nil {
			place, err = f.desk.Queue.Locate(ctx, row.Spec.Key())
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if row.Result != nil {
		return false, f.finish(ctx, row, output)
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
	if place.Token == "" || !output {
		f.listener.Want(core.OutputOf{}, "")
		return true, nil
	}
	return f.print(ctx, row.Spec.Key())
}

// enter begins with the output of an attempt, unless the reader is in it.
func (f *following) enter(generation int, token string) bool {
	if f.at.generation == generation && f.at.token == token {
		return true
	}
	begun := f.at.token != ""
	f.at.generation, f.at.token, f.at.after, f.at.state = generation, token, "", ""
	return !begun || f.send(Event{Kind: EventReset})
}

// print tells what there is of the output, and returns false if the reader wants no more.
func (f *following) print(ctx context.Context, key string) (bool, error) {
	for {
		var chunks []core.OutputChunk
		err := f.desk.Watch.looking(ctx, func() (err error) {
			chunks, err = f.desk.Output.Read(ctx, key, f.at.token, f.at.after, 0)
			return err
		})
		if err != nil {
			return false, err
		}
		for _, c := range chunks {
			f.at.after = c.ID
			if c.Stream != streamEnd && !f.send(Event{Kind: EventOutput, Stream: c.Stream, Data: c.Data}) {
				return false, nil
			}
		}
		if len(chunks) == 0 {
			f.listener.Want(core.OutputOf{Key: key, Token: f.at.token}, f.at.after)
			return true, nil
		}
	}
}

// streamEnd is the stream of an output's last chunk.
const streamEnd = "end"

// finish tells the rest of what the attempt printed whose result counts, and the end.
func (f *following) finish(ctx context.Context, row core.Row, output bool) error {
	if f.at.generation == row.Spec.Generation && f.at.state.Terminal() {
		return nil // it was told
	}
	if token := row.Result.Token; output && token != "" {
		if !f.enter(row.Spec.Generation, token) {
			return nil
		}
		if going, err := f.print(ctx, row.Spec.Key()); err != nil || !going {
			return err
		}
	}
	f.at.generation, f.at.state = row.Spec.Generation, row.State
	f.send(Event{Kind: EventEnd, State: row.State})
	return nil
}

// wait returns when it is time to look again.
func (f *following) wait(ctx context.Context) error {
	rest, look := time.NewTimer(followPause), time.NewTimer(followLook)
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
