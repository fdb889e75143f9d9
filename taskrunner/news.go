package taskrunner

import (
	"context"
	"slices"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
	"drover/core/webhook"
)

// news is an end, a comment, or something that happened to a lease, of which webhooks are notified.
type news struct {
	notify   []string // webhooks
	callback string   // the compatible API that notifies the request's maker; "" is none
	maker    string
	at       time.Time
	payload  func(delivery string) ([]byte, error)
}

// newsStore reads what the outbox has notices of.
type newsStore interface {
	Get(ctx context.Context, id string) (core.Row, error)
	Attempts(ctx context.Context, id string) ([]core.Attempt, error)
	GetTask(ctx context.Context, id string) (core.Task, error)
	ToldLease(ctx context.Context, id string) (core.Lease, error)
	GetComment(ctx context.Context, id string) (school.Comment, error)
	ListWebhooks(ctx context.Context, class, after string, limit int) ([]core.Webhook, error)
}

// findNews reads the end of one generation, even if the request or task was run again since, or a note of a lease, even
// if that was deleted, or a comment that is still there. Returns NOTFOUND if it is gone, INVALID if the event or key is invalid.
func findNews(ctx context.Context, store newsStore, event, key string) (news, error) {
	id, generation, err := core.ParseKey(key)
	if err != nil {
		return news{}, err
	}
	switch {
	case event == core.EventRequestEnded:
		return requestNews(ctx, store, id, generation)
	case event == core.EventTaskEnded:
		return taskNews(ctx, store, id, generation)
	case slices.Contains(core.CommentEvents(), event):
		return commentNews(ctx, store, event, id)
	case slices.Contains(core.LeaseEvents(), event):
		return leaseNews(ctx, store, event, id, generation)
	}
	return news{}, core.Errorf(core.CodeInvalid, key, "%.40q is no event that can be told of %s", event, key)
}

func requestNews(ctx context.Context, store newsStore, id string, generation int) (news, error) {
	row, err := endedRow(ctx, store, id, generation)
	if err != nil {
		return news{}, err
	}
	s := &row.Spec
	return news{s.Notify, s.Callback, s.Submitter, webhook.EndOf(row.Result), func(delivery string) ([]byte, error) {
		return webhook.RequestEnded(delivery, s, row.Result)
	}}, nil
}

// endedRow returns a request as it was at the end of one of its generations.
func endedRow(ctx context.Context, store newsStore, id string, generation int) (core.Row, error) {
	row, err := store.Get(ctx, id)
	if err != nil || row.Spec.Generation == generation && row.Result != nil {
		return row, err
	}
	if row.Result, err = formerResult(ctx, store, id, generation); err != nil {
		return core.Row{}, err
	}
	row.Spec.Generation, row.State, row.Finished = generation, row.Result.State, webhook.EndOf(row.Result).UnixMilli()
	return row, nil
}

// formerResult returns the result of a generation before the current one.
func formerResult(ctx context.Context, store newsStore, id string, generation int) (*core.Result, error) {
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

func taskNews(ctx context.Context, store newsStore, id string, generation int) (news, error) {
	t, err := store.GetTask(ctx, id)
	if err != nil {
		return news{}, err
	}
	if t.Generation != generation || !t.State.Terminal() {
		return news{}, core.Errorf(core.CodeNotFound, id, "task %s was tried anew: webhooks are told how that ends", id)
	}
	return news{notify: t.Notify, at: time.UnixMilli(t.Ended), payload: func(delivery string) ([]byte, error) {
		return webhook.TaskEnded(delivery, &t)
	}}, nil
}

func leaseNews(ctx context.Context, store newsStore, event, id string, number int) (news, error) {
	l, err := store.ToldLease(ctx, id)
	if err != nil {
		return news{}, err
	}
	note, err := webhook.NoteOf(&l, event, number)
	if err != nil {
		return news{}, err
	}
	return news{notify: l.Notify, at: time.UnixMilli(note.At), payload: func(delivery string) ([]byte, error) {
		return webhook.LeaseNoted(delivery, &l, note)
	}}, nil
}

// commentNews is of all webhooks of the comment's class; those that do not ask for the event are left out later.
func commentNews(ctx context.Context, store newsStore, event, id string) (news, error) {
	c, err := store.GetComment(ctx, id)
	if err != nil {
		return news{}, err
	}
	if c.Draft() || c.Event() != event {
		return news{}, core.Errorf(core.CodeNotFound, id, "comment %s is not released, or is of another kind", id)
	}
	hooks, err := store.ListWebhooks(ctx, c.Class, "", bounds.MaxPage)
	if err != nil {
		return news{}, err
	}
	var notify []string
	for i := range hooks {
		if slices.Contains(hooks[i].Events, event) {
			notify = append(notify, hooks[i].ID)
		}
	}
	at := time.UnixMilli(c.Released)
	said := webhook.Comment{
		ID: c.ID, Submission: c.Submission, Class: c.Class, Assignment: c.Assignment, User: c.User, By: c.By, File: c.File, Line: c.Line, Last: c.Last,
	}
	return news{notify: notify, at: at, payload: func(delivery string) ([]byte, error) {
		return webhook.Commented(delivery, event, at, said)
	}}, nil
}
