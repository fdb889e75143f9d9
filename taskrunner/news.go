package taskrunner

import (
	"context"
	"time"

	"drover/core"
	"drover/core/webhook"
)

// news is an end of which webhooks are told.
type news struct {
	notify  []string // webhooks
	at      time.Time
	payload func(delivery string) ([]byte, error)
}

// findNews reads an end. Whatever became of the request or task since, what is read is
// the end of that generation. Returns NOTFOUND if it is gone, INVALID for what is none.
func findNews(ctx context.Context, store core.ResultStore, event, key string) (news, error) {
	id, generation, err := core.ParseKey(key)
	if err != nil {
		return news{}, err
	}
	switch event {
	case core.EventRequestEnded:
		return requestNews(ctx, store, id, generation)
	case core.EventTaskEnded:
		return taskNews(ctx, store, id, generation)
	}
	return news{}, core.Errorf(core.CodeInvalid, key, "%.40q is no event that can be told of %s", event, key)
}

func requestNews(ctx context.Context, store core.ResultStore, id string, generation int) (news, error) {
	row, err := store.Get(ctx, id)
	if err != nil {
		return news{}, err
	}
	result := row.Result
	if row.Spec.Generation != generation || result == nil {
		if result, err = formerResult(ctx, store, id, generation); err != nil {
			return news{}, err
		}
	}
	return news{row.Spec.Notify, webhook.EndOf(result), func(delivery string) ([]byte, error) {
		return webhook.RequestEnded(delivery, &row.Spec, result)
	}}, nil
}

// formerResult is the result of a generation that was run again since.
func formerResult(ctx context.Context, store core.ResultStore, id string, generation int) (*core.Result, error) {
	history, err := store.Attempts(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range history {
		if r := &history[i].Result; history[i].Accepted && r.Generation == generation {
			return r, nil
		}
	}
	return nil, core.Errorf(core.CodeNotFound, id, "request %s has no result of generation %d any more", id, generation)
}

func taskNews(ctx context.Context, store core.ResultStore, id string, generation int) (news, error) {
	t, err := store.GetTask(ctx, id)
	if err != nil {
		return news{}, err
	}
	if t.Generation != generation || !t.State.Terminal() {
		return news{}, core.Errorf(core.CodeNotFound, id, "task %s was tried anew: webhooks are told how that ends", id)
	}
	return news{t.Notify, time.UnixMilli(t.Ended), func(delivery string) ([]byte, error) {
		return webhook.TaskEnded(delivery, &t)
	}}, nil
}
