package taskrunner

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"time"

	"drover/core"
	"drover/core/webhook"
)

// maxCallbackAge is the age after which a callback is not tried for the first time any more.
const maxCallbackAge = 24 * time.Hour

// callbacks notify the makers of requests through a compatible API how their requests ended, at the address that came
// with the request: at least once, with the same id at each try.
type callbacks struct {
	*sender

	store newsStore
	forms map[string]core.Callback
}

func (c *callbacks) kind() Kind {
	return Kind{
		Name: core.KindCallback, Handle: c.handle, MaxAttempts: core.CallbackTries, Timeout: 2 * c.poster.whole,
		Retry: func(failures int) time.Duration { return webhook.Pause(failures, rand.Float64()) }, //nolint:gosec // it spreads load
	}
}

func (c *callbacks) handle(ctx context.Context, job *Job) (End, error) {
	var args core.CallbackArgs
	if err := job.Args(&args); err != nil {
		return End{}, err
	}
	// All addresses of one maker are one receiver: otherwise a maker with many could take all slots.
	maker := "callbacks of " + job.Task.Lane
	if wait, why := c.gate.enter(maker); wait > 0 {
		if why != "" && job.Age > maxCallbackAge {
			return End{}, core.Errorf(core.CodeLimit, job.Task.ID, "the receiver has been failing for a day: %s", why)
		}
		return putOff(wait), nil
	}
	m, err := c.message(ctx, args.Key)
	if err != nil {
		c.gate.leave(maker, 0, err, false)
		if core.Is(err, core.CodeNotFound) {
			return End{Note: clip("not told: " + err.Error())}, nil
		}
		return End{}, err
	}
	a, err := c.try(ctx, job, maker, m)
	switch {
	case err == nil:
		return End{Note: "told: " + a.text}, nil
	case a.status == http.StatusGone:
		return End{}, core.Errorf(core.CodeInvalid, job.Task.ID, "the receiver wants no more (%s)", a.text)
	}
	return End{}, err
}

// message returns the message. It is made again for every try, because it may be large.
func (c *callbacks) message(ctx context.Context, key string) (core.Message, error) {
	id, generation, err := core.ParseKey(key)
	if err != nil {
		return core.Message{}, err
	}
	row, err := endedRow(ctx, c.store, id, generation)
	if err != nil {
		return core.Message{}, err
	}
	form := c.forms[row.Spec.Callback]
	if form == nil { // another taskrunner of the cluster may have it
		return core.Message{}, core.Errorf(core.CodeUnavailable, key, "this taskrunner does not know how the compatible API %q tells of ends", row.Spec.Callback)
	}
	return form(ctx, row)
}

// callbackTask makes the task that notifies the maker of a request of its end. It has no requester, so that no limit
// on unfinished tasks refuses it.
func callbackTask(n core.Notice, e news) (core.Task, error) {
	args, err := json.Marshal(core.CallbackArgs{Key: n.Key})
	if err != nil {
		return core.Task{}, err
	}
	return core.Task{
		ID: webhook.DeliveryID(e.at, n.Event, n.Key, ""), Kind: core.KindCallback, Args: args, Priority: core.PriorityNormal, Lane: e.maker,
	}, nil
}
