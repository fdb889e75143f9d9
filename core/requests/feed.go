package requests

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"drover/core"
	"drover/core/requests/intake"
)

// Watch wakes all followers in one program when there may be something new. It reads Redis in one place for all of
// them, so a thousand followers cost no more than one. Waking is a hint: the follower reads what has really changed.
type Watch struct {
	Feed core.Feed
	Last func(ctx context.Context, n int) ([]core.Event, error) // as core.History's LastEvents

	once  sync.Once
	looks chan struct{} // bounds the looks at one time

	mu        sync.Mutex
	listeners map[string]map[*Listener]bool // by the id for which they wait
	newest    string                        // id of the newest event
}

// Settings of a Watch's reads.
const (
	watchRead  = 200 * time.Millisecond // a new listener's output joins the common read within this time
	watchRetry = time.Second            // while Redis is away
	watchLooks = 8                      // concurrent looks: news for many followers must not use all connections
)

// Listener waits for news of one thing.
type Listener struct {
	id      string
	watch   *Watch
	woken   chan struct{}
	printed chan struct{} // as woken, but only when there is more in the awaited output

	prints bool // it awaits the output of each attempt from its claim on

	mu     sync.Mutex
	output core.OutputOf // zero: no output is awaited
	after  string
}

// Listen starts to wait for news of a request, task or experiment, by its id, or of a batch's requests, by the batch's;
// "" stands for all events.
func (w *Watch) Listen(id string) *Listener { return w.listen(&Listener{id: id}) }

// listenPrints is as Listen, for a reader of output. It awaits that of each attempt from its claim on: the common read
// that it would ask for it has begun by then, and may last.
func (w *Watch) listenPrints(id string) *Listener { return w.listen(&Listener{id: id, prints: true}) }

func (w *Watch) listen(l *Listener) *Listener {
	l.watch, l.woken, l.printed = w, make(chan struct{}, 1), make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listeners == nil {
		w.listeners = map[string]map[*Listener]bool{}
	}
	if w.listeners[l.id] == nil {
		w.listeners[l.id] = map[*Listener]bool{}
	}
	w.listeners[l.id][l] = true
	return l
}

// Newest returns the id of the newest event that is known; "" for none yet.
func (w *Watch) Newest() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}

// Look runs a read of the stores when fewer than watchLooks others run.
func (w *Watch) Look(ctx context.Context, look func() error) error {
	w.once.Do(func() { w.looks = make(chan struct{}, watchLooks) })
	select {
	case w.looks <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.looks }()
	return look()
}

// Close ends the listener.
func (l *Listener) Close() {
	l.watch.mu.Lock()
	defer l.watch.mu.Unlock()
	delete(l.watch.listeners[l.id], l)
	if len(l.watch.listeners[l.id]) == 0 {
		delete(l.watch.listeners, l.id)
	}
}

// News receives a value when there may be news.
func (l *Listener) News() <-chan struct{} { return l.woken }

// Want has the listener woken once when there is more in an output; the zero OutputOf means none.
func (l *Listener) Want(of core.OutputOf, after string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.output, l.after = of, after
}

// Printed receives a value when there may be more in the awaited output.
func (l *Listener) Printed() <-chan struct{} { return l.printed }

func (l *Listener) wake() { signal(l.woken) }

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Run wakes listeners until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	last, known := "", false
	for ctx.Err() == nil {
		if !known {
			newest, err := w.Last(ctx, 1)
			if err != nil {
				pause(ctx, watchRetry)
				continue
			}
			if known = true; len(newest) > 0 {
				last = newest[0].ID
			}
			w.know(last)
			w.wakeAll() // events during an outage are not read one by one
		}
		events, more, err := w.Feed.Next(ctx, last, w.wanted(), watchRead)
		if err != nil {
			known = false
			pause(ctx, watchRetry)
			continue
		}
		for i := range events {
			last = events[i].ID
		}
		w.tell(events, more)
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// wanted returns the awaited outputs, each with the earliest position: a listener that is further on looks once too
// often.
func (w *Watch) wanted() map[core.OutputOf]string {
	all := map[core.OutputOf]string{}
	w.each(func(l *Listener) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.output == (core.OutputOf{}) {
			return
		}
		if at, ok := all[l.output]; !ok || earlier(l.after, at) {
			all[l.output] = l.after
		}
	})
	return all
}

// earlier compares positions in streams: milliseconds and a number.
func earlier(a, b string) bool {
	ams, an, _ := strings.Cut(a, "-")
	bms, bn, _ := strings.Cut(b, "-")
	if ams != bms {
		return len(ams) < len(bms) || len(ams) == len(bms) && ams < bms
	}
	return len(an) < len(bn) || len(an) == len(bn) && an < bn
}

func (w *Watch) each(do func(l *Listener)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, some := range w.listeners {
		for l := range maps.Keys(some) {
			do(l)
		}
	}
}

func (w *Watch) wakeAll() { w.each((*Listener).wake) }

func (w *Watch) know(newest string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.newest = newest
}

func (w *Watch) tell(events []core.Event, more []core.OutputOf) {
	w.mu.Lock()
	for i := range events {
		w.newest = events[i].ID
		for key := range strings.FieldsSeq(events[i].Claimed) {
			id, _, _ := strings.Cut(key, "-")
			for l := range w.listeners[id] {
				if l.prints {
					l.Want(core.OutputOf{Key: key, Token: events[i].Token}, "")
				}
			}
		}
		for word := range strings.FieldsSeq(events[i].Moved + " " + events[i].Claimed) {
			id, _, _ := strings.Cut(word, "-") // the word begins with a request's key, a task's key, or an experiment's id
			for _, of := range []string{id, intake.BatchID(id)} {
				for l := range w.listeners[of] {
					l.wake()
				}
			}
		}
	}
	if len(events) > 0 {
		for l := range w.listeners[""] {
			l.wake()
		}
	}
	w.mu.Unlock()
	if len(more) == 0 {
		return
	}
	has := map[core.OutputOf]bool{}
	for _, one := range more {
		has[one] = true
	}
	w.each(func(l *Listener) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if has[l.output] {
			l.output = core.OutputOf{}
			l.wake()
			signal(l.printed)
		}
	})
}
