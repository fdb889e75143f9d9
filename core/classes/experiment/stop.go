package experiment

import (
	"context"
	"time"

	"drover/core"

	"golang.org/x/sync/errgroup"
)

const (
	stoppedAtOnce = 16   // the store waits for its disk once for all of them
	partsAtOnce   = 1000 // tasks read at a time
	stopPause     = 50 * time.Millisecond
	stopTimeout   = 15 * time.Second // for parts that a taskrunner is running
)

// Work finds an experiment's tasks and requests.
type Work interface {
	Parts
	GetTask(ctx context.Context, id string) (core.Task, error)
	ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error)
}

// RequestCanceller stops requests; intake.Intake is one.
type RequestCanceller interface {
	Cancel(ctx context.Context, id, by string) (core.RequestState, error)
}

// Canceller stops requests and tasks; intake.Intake is one.
type Canceller interface {
	RequestCanceller
	CancelTask(ctx context.Context, id, by string) (core.TaskState, error)
}

// Stop stops everything of an aborted experiment: waiting work is withdrawn at once, running work is cancelled. When
// it returns without an error none of it waits. Returns UNAVAILABLE if a running part does not stop.
func Stop(ctx context.Context, work Work, canceller Canceller, id, by string) error {
	if err := StopRequests(ctx, work, canceller, id, by); err != nil {
		return err
	}
	if err := stopParts(ctx, work, canceller, id, by); err != nil {
		return err
	}
	// Last: until then the task would continue this if the caller dies.
	if _, err := canceller.CancelTask(ctx, id, by); past(err) != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := quiet(waiting, work, id); err != nil {
		return err
	}
	// Requests that a running part has made since.
	return StopRequests(ctx, work, canceller, id, by)
}

// StopRequests stops the requests of an experiment.
func StopRequests(ctx context.Context, store Results, canceller RequestCanceller, id, by string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stoppedAtOnce)
	err := eachRequest(ctx, store, id, []core.RequestState{core.RequestQueued}, func(row *core.Row) error {
		request := row.Spec.ID
		group.Go(func() error {
			_, err := canceller.Cancel(ctx, request, by)
			return past(err)
		})
		return nil
	})
	if broke := group.Wait(); broke != nil {
		return broke
	}
	return err
}

func stopParts(ctx context.Context, work Work, canceller Canceller, id, by string) error {
	f := core.TaskFilter{Parent: id, States: []core.TaskState{core.TaskQueued}, Limit: partsAtOnce}
	for {
		page, err := work.ListTasks(ctx, f)
		if err != nil {
			return err
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(stoppedAtOnce)
		for i := range page {
			f.Before = page[i].ID
			group.Go(func() error {
				_, err := canceller.CancelTask(ctx, page[i].ID, by)
				return past(err)
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if len(page) < f.Limit {
			return nil
		}
	}
}

// past treats work that has ended, or is gone, as stopped.
func past(err error) error {
	if core.Is(err, core.CodeEnded) || core.Is(err, core.CodeNotFound) {
		return nil
	}
	return err
}

// quiet waits until the task of an experiment and all its parts have ended.
func quiet(ctx context.Context, work Work, id string) error {
	for {
		t, err := work.GetTask(ctx, id)
		over := core.Is(err, core.CodeNotFound) || err == nil && t.State.Terminal()
		tally, unread := work.CountChildren(ctx, id)
		switch {
		case ctx.Err() == nil && !over && err != nil:
			return err
		case ctx.Err() == nil && unread != nil:
			return unread
		case over && unread == nil && tally.Open() == 0:
			return nil
		}
		select {
		case <-time.After(stopPause):
		case <-ctx.Done():
			return core.Wrap(ctx.Err(), core.CodeUnavailable, id, "experiment %s is aborted, but %d of its tasks are in hand and have not stopped yet: abort it once more", id, tally.Open())
		}
	}
}
