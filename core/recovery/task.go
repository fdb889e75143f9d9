package recovery

import (
	"context"
	"fmt"
	"strings"

	"drover/core"
)

// task decides how the slot of a task ends.
func (j *judge) task(ctx context.Context, h core.Held, _ core.RequestState) (core.Outcome, error) {
	id, generation, err := core.ParseKey(h.Key)
	if err != nil {
		j.report.Done++
		return core.OutcomeDone, nil //nolint:nilerr // no task has this key: nobody waits for it
	}
	t, err := j.store.GetTask(ctx, id)
	switch {
	case core.Is(err, core.CodeNotFound), err == nil && (t.Generation != generation || t.State.Terminal()):
		j.report.Done++
		return core.OutcomeDone, nil
	case err != nil:
		return "", err
	}
	text := takenText + j.opts.Cause.String()
	end := core.TaskEnd{ID: id, Generation: generation, State: core.TaskDead}
	switch attempt := h.Attempts + 1; {
	case h.Cancelled != "":
		end.State, end.Note = core.TaskCancelled, "cancelled by "+h.Cancelled
	case j.opts.Cause == Drained:
		return j.again(), nil
	default:
		failure := core.TaskFailure{Generation: generation, Attempt: attempt, At: j.opts.Now().UnixMilli(), Text: text}
		if err := j.store.FailTask(ctx, id, failure); err != nil {
			return "", err
		}
		n := taken(t.Failures, failure)
		if n < j.opts.MaxAttempts {
			return j.again(), nil
		}
		end.Note = fmt.Sprintf("%s; that ended %d of its tries, the most there may be", text, n)
	}
	return j.endTask(ctx, end)
}

// takenText begins what is noted of a try that its taskrunner did not end itself.
const takenText = "its taskrunner "

// taken counts the tries that ended so, the last one included. How often a task may
// fail by itself is its kind's, which only a taskrunner knows.
func taken(failures []core.TaskFailure, last core.TaskFailure) int {
	tries := map[int]bool{last.Attempt: true}
	for _, f := range failures {
		if f.Generation == last.Generation && strings.HasPrefix(f.Text, takenText) {
			tries[f.Attempt] = true
		}
	}
	return len(tries)
}

// endTask makes a task's end durable before Redis hears of it. If another was there
// first, the slot ends by that.
func (j *judge) endTask(ctx context.Context, end core.TaskEnd) (core.Outcome, error) {
	first, err := j.store.EndTask(ctx, end)
	switch {
	case err != nil && !core.Is(err, core.CodeNotFound):
		return "", err
	case first && end.State == core.TaskDead:
		j.report.Dead++
		return core.OutcomeDead, nil
	case first:
		j.report.Cancelled++
	}
	j.report.Done++
	return core.OutcomeDone, nil
}
