package redisstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"drover/core"
)

// nobody is the lane of tasks that have neither lane nor requester.
const nobody = "-"

// EnqueueTask implements core.Tasks.
func (s *Store) EnqueueTask(ctx context.Context, t core.Task) error {
	text, err := encodeTask(t)
	if err != nil {
		return err
	}
	word, err := s.run(ctx, "task_enqueue", t.ID, t.Key(), text, t.NotBefore)
	if str(word) == "ended" {
		return core.Errorf(core.CodeEnded, t.ID, "task %s ended already", t.ID)
	}
	return err
}

// encodeTask checks a task and writes it as scripts read it: they take priority, kind and lane from its head, so that
// keys consist only of names.
func encodeTask(t core.Task) (string, error) {
	t.Priority, t.Lane = cmp.Or(t.Priority, core.PriorityNormal), cmp.Or(t.Lane, t.Requester, nobody)
	if err := core.CheckName("task id", t.ID); err != nil {
		return "", err
	}
	if err := checkKind(t.Kind); err != nil {
		return "", err
	}
	if t.Lane != nobody {
		if err := core.CheckName("lane", t.Lane); err != nil {
			return "", err
		}
	}
	if !t.Priority.Valid() || t.Generation < 1 {
		return "", core.Errorf(core.CodeInvalid, t.ID, "task %s has priority %q and generation %d: use high, normal or low, and 1 or more",
			t.ID, t.Priority, t.Generation)
	}
	// These are kept in the result store; in Redis they would only take space.
	t.Note, t.Progress, t.Failures, t.Download = "", nil, nil, nil
	text, err := json.Marshal(t)
	if err != nil {
		return "", core.Wrap(err, core.CodeInvalid, t.ID, "task %s cannot be written as JSON", t.ID)
	}
	if len(text) > core.MaxSpecBytes {
		return "", core.Errorf(core.CodeLimit, t.ID, "task %s has %d bytes, more than %d", t.ID, len(text), core.MaxSpecBytes)
	}
	return strings.Join([]string{string(t.Priority), t.Kind, t.Lane, string(text)}, " "), nil
}

// checkKind refuses a name that cannot be a kind's. Kinds are named like functions, with underscores.
func checkKind(kind string) error {
	return core.CheckName("task kind", strings.ReplaceAll(kind, "_", "-"))
}

// decodeTask reads a task from a script's answer. An unreadable text must not hold back others: it gives a task of no
// kind, which ends with that error.
func decodeTask(key, text string) core.Task {
	var t core.Task
	const head = 3 // priority, kind, lane
	parts := strings.SplitN(text, " ", head+1)
	if len(parts) <= head || json.Unmarshal([]byte(parts[head]), &t) != nil || t.Key() != key {
		t = core.Task{}
		t.ID, t.Generation, _ = core.ParseKey(key)
	}
	return t
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
		if f.Outcome == core.OutcomeRetry || f.Outcome == core.OutcomeLater {
			outcome += strconv.FormatInt(max(0, f.Delay.Milliseconds()), 10)
		}
		return ending{f.Key, f.Token, outcome}
	})
	reply, err := s.run(ctx, "task_exchange", x.Owner, args...)
	if err != nil {
		return core.TaskExchanged{}, err
	}
	f := list(reply)
	if len(f) != 5 { //nolint:mnd // as the script's header says
		return core.TaskExchanged{}, core.Errorf(core.CodeInternal, x.Owner, "the task script answered %d parts", len(f))
	}
	out := core.TaskExchanged{
		Finished: verdicts(str(f[0]), len(x.Finish)), Next: time.Duration(num(f[1])) * time.Millisecond, Cancelled: byWhom(f[2]),
		Slots: int(num(f[4])),
	}
	got := list(f[3])
	for i := 0; i+4 < len(got); i += 5 {
		out.Claims = append(out.Claims, core.TaskClaim{
			Task: decodeTask(str(got[i]), str(got[i+4])), Token: str(got[i+1]), Attempts: int(num(got[i+2])), Cancelled: str(got[i+3]),
			Young: s.young(),
		})
	}
	return out, nil
}

// maxProgressText bounds a task's progress text for people, in bytes.
const maxProgressText = 500

// ProgressTask implements core.Tasks.
func (s *Store) ProgressTask(ctx context.Context, owner string, epoch int64, key, token string, p core.TaskProgress, limit time.Duration) error {
	text := strings.ToValidUTF8(p.Text[:min(len(p.Text), maxProgressText)], "")
	_, err := s.run(ctx, "task_progress", key, owner, epoch, key, token, limit.Milliseconds(), p.Done, p.Total, text)
	return err
}

// WaitTask implements core.Tasks.
func (s *Store) WaitTask(ctx context.Context, owner string, idle bool, poll time.Duration) error {
	bell := ""
	if idle {
		bell = s.space.Key("tasks_bell")
	}
	return s.await(ctx, poll, s.space.Key("notice", owner), bell)
}

// WakeTask implements core.Tasks.
func (s *Store) WakeTask(ctx context.Context, key string) error {
	_, err := s.run(ctx, "task_wake", key, key)
	return err
}

// CancelTask implements core.Tasks.
func (s *Store) CancelTask(ctx context.Context, key, by string) (core.TaskPlace, error) {
	reply, err := s.run(ctx, "task_cancel", key, key, by)
	if err != nil {
		return core.TaskPlace{}, err
	}
	return toTaskPlace(reply), nil
}

// WithdrawTask implements core.Tasks.
func (s *Store) WithdrawTask(ctx context.Context, key string) (bool, error) {
	reply, err := s.run(ctx, "task_withdraw", key, key)
	return num(reply) == 1, err
}

// PresentTasks implements core.Tasks.
func (s *Store) PresentTasks(ctx context.Context, keys []string) ([]bool, error) {
	return s.fieldsExist(ctx, "tasks", keys)
}

// LocateTasks implements core.Tasks.
func (s *Store) LocateTasks(ctx context.Context, keys []string) ([]core.TaskPlace, error) {
	out := make([]core.TaskPlace, 0, len(keys))
	for some := range slices.Chunk(keys, maxBatch) {
		reply, err := s.run(ctx, "task_locate", some[0], anys(some)...)
		if err != nil {
			return nil, err
		}
		for _, place := range list(reply) {
			out = append(out, toTaskPlace(place))
		}
	}
	return out, nil
}

func toTaskPlace(reply any) core.TaskPlace {
	f := list(reply)
	if len(f) < 8 {
		return core.TaskPlace{}
	}
	p := core.TaskPlace{
		State: core.TaskState(str(f[0])), Owner: str(f[1]), Since: num(f[2]), Due: num(f[3]), Attempts: int(num(f[4])),
	}
	if done := num(f[5]); done >= 0 {
		p.Progress = &core.TaskProgress{Done: done, Total: num(f[6]), Text: str(f[7])}
	}
	return p
}
