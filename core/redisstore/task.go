package redisstore

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"drover/core"
)

// EnqueueTask implements core.Tasks.
func (s *Store) EnqueueTask(ctx context.Context, t core.Task) error {
	if err := core.CheckName("task id", t.ID); err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return core.Wrap(err, core.CodeInvalid, t.ID, "task %s cannot be written as JSON", t.ID)
	}
	if len(text) > core.MaxSpecBytes {
		return core.Errorf(core.CodeLimit, t.ID, "task %s has %d bytes, more than %d", t.ID, len(text), core.MaxSpecBytes)
	}
	_, err = s.run(ctx, "task_enqueue", t.ID, t.ID, text)
	return err
}

// ExchangeTasks implements core.Tasks.
func (s *Store) ExchangeTasks(ctx context.Context, x core.TaskExchange) (core.TaskExchanged, error) {
	_, host, err := core.ParseOwner(x.Owner)
	if err != nil {
		return core.TaskExchanged{}, err
	}
	if len(x.Finish) > maxBatch || x.Want > maxBatch || x.Want < 0 {
		return core.TaskExchanged{}, core.Errorf(core.CodeLimit, x.Owner, "one exchange takes at most %d finishes and claims", maxBatch)
	}
	args := []any{x.Owner, host, x.Epoch, x.Lane, x.Seq, x.TokenBase, x.Want, x.Beat.Milliseconds(), len(x.Finish)}
	args = appendEndings(args, len(x.Finish), func(i int) ending {
		f := x.Finish[i]
		outcome := string(f.Outcome)
		if f.Outcome == core.OutcomeRetry {
			outcome += strconv.FormatInt(f.Delay.Milliseconds(), 10)
		}
		return ending{f.Key, f.Token, outcome}
	})
	reply, err := s.run(ctx, "task_exchange", x.Owner, args...)
	if err != nil {
		return core.TaskExchanged{}, err
	}
	f := list(reply)
	if len(f) != 2 {
		return core.TaskExchanged{}, core.Errorf(core.CodeInternal, x.Owner, "the task script answered %d parts", len(f))
	}
	out := core.TaskExchanged{Finished: verdicts(str(f[0]), len(x.Finish))}
	got := list(f[1])
	for i := 0; i+3 < len(got); i += 4 {
		c := core.TaskClaim{Token: str(got[i+1]), Attempts: int(num(got[i+2]))}
		if err := json.Unmarshal([]byte(str(got[i+3])), &c.Task); err != nil {
			// One bad task must not hold back the others. It is of no kind, and ends by that.
			c.Task = core.Task{ID: str(got[i])}
		}
		out.Claims = append(out.Claims, c)
	}
	return out, nil
}

// WaitTask implements core.Tasks.
func (s *Store) WaitTask(ctx context.Context, poll time.Duration) error {
	return s.await(ctx, poll, "", s.space.Key("tasks_bell"))
}

// PresentTasks implements core.Tasks.
func (s *Store) PresentTasks(ctx context.Context, ids []string) ([]bool, error) {
	return s.fieldsExist(ctx, "tasks", ids)
}
