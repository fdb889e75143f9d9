package recovery

import (
	"context"

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
	case j.opts.Cause == Drained, j.opts.Cause == Hung && h.Cancelled != "":
		return j.again(), nil // its taskrunner may go on with it until the slot is empty
	case h.Cancelled != "":
		end.State, end.Note = core.TaskCancelled, "cancelled by "+h.Cancelled
	default:
		failure := core.TaskFailure{Generation: generation, Attempt: attempt, At: j.opts.Now().UnixMilli(), Text: text}
		if err := j.store.FailTask(ctx, id, failure); err != nil {
			return "", err
		}
		if end.Note = Verdict(h.Deaths, j.opts).Reason; j.opts.Cause != Lost || end.Note == "" {
			return j.again(), nil
		}
	}
	return j.endTask(ctx, end)
}

// takenText begins the note of a try that its taskrunner did not finish.
const takenText = "its taskrunner "

// endTask makes a task's end durable before the slot is settled. If the store already has another end, the slot ends
// by that.
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
