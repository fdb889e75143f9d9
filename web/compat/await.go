package compat

import (
	"context"
	"net/http"
	"time"

	"drover/core"
	"drover/core/requests"
)

// answerTime is the time left to write an answer after waiting.
const answerTime = 30 * time.Second

// Await reads a request whenever there is news of it, and at least once a second, until ended returns true or an error,
// which Await returns. After longest, or once the caller has gone away, it returns the context's error.
func Await(w http.ResponseWriter, r *http.Request, d *requests.Service, who core.Actor, id string, longest time.Duration, ended func(core.Row, error) (bool, error)) error {
	ctx, cancel := context.WithTimeout(r.Context(), longest)
	defer cancel()
	// The server's own limit is for answers without waiting. If it has none, this does nothing.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longest + answerTime))
	var news <-chan struct{}
	look := func(read func() error) error { return read() }
	if d.Watch != nil {
		listener := d.Watch.Listen(id)
		defer listener.Close()
		news = listener.News()
		look = func(read func() error) error { return d.Watch.Look(ctx, read) } // few read at once
	}
	const first, most = 50 * time.Millisecond, time.Second
	for pause := first; ; pause = min(2*pause, most) {
		var row core.Row
		err := look(func() (err error) {
			row, err = d.Row(ctx, who, id)
			return err
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if done, err := ended(row, err); done || err != nil {
			return err
		}
		select {
		case <-news:
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}
