package sqlite

import (
	"context"
	"strings"
	"time"

	"drover/core"
)

// purgeBatch is how many rows one transaction deletes, so that a purge does not block other writes.
const purgeBatch = 100

// finishedBefore selects the requests that one batch of a purge deletes.
const finishedBefore = `(SELECT id FROM requests WHERE finished > 0 AND kept = 0 AND finished < ?
	AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event = 'request.ended' AND o.id = requests.id)
	ORDER BY finished, id LIMIT ?)`

// endedBefore selects the tasks.
const endedBefore = `(SELECT id FROM tasks WHERE ended > 0 AND ended < ? AND expires <= ?
	AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event = 'task.ended' AND o.id = tasks.id)
	ORDER BY ended, id LIMIT ?)`

// Purge deletes requests, tasks, batches, leases and instances that ended before the time, see school.ResultStore.
func (s *Store) Purge(ctx context.Context, before time.Time, limit int) (int, error) {
	total := 0
	for total < limit {
		batch := min(purgeBatch, limit-total)
		n, err := commit(ctx, s.committer, "", 0, func(t *tx) (int, error) { return t.purge(before.UnixMilli(), s.now(), batch) })
		total += n
		if err != nil || n < batch {
			return total, err
		}
	}
	return total, nil
}

// emptyBefore selects the batches.
const emptyBefore = `(SELECT id FROM batches b WHERE created < ? AND state NOT IN ('making', 'cancelling')
	AND NOT EXISTS (SELECT 1 FROM requests r WHERE r.id > b.id AND r.id <= b.last) ORDER BY created, id LIMIT ?)`

// overBefore selects the leases, those that were deleted included.
var overBefore = `(SELECT id FROM leases WHERE ended > 0 AND ended < ?
	AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = leases.id AND o.event IN ('` + strings.Join(core.LeaseEvents(), "', '") + `'))
	ORDER BY ended, id LIMIT ?)`

// terminatedBefore selects the instances.
const terminatedBefore = `(SELECT id FROM instances WHERE ended > 0 AND ended < ? ORDER BY ended, id LIMIT ?)`

// purge deletes at most batch rows: requests with their history, then what else is old.
func (t *tx) purge(before, now int64, batch int) (int, error) {
	if _, err := t.exec("DELETE FROM attempts WHERE id IN "+finishedBefore, before, batch); err != nil {
		return 0, err
	}
	total := 0
	for _, old := range []struct {
		text string
		args []any
	}{
		{"DELETE FROM requests WHERE id IN " + finishedBefore, []any{before}},
		{"DELETE FROM tasks WHERE id IN " + endedBefore, []any{before, now}},
		{"DELETE FROM batches WHERE id IN " + emptyBefore, []any{before}},
		{"DELETE FROM leases WHERE id IN " + overBefore, []any{before}},
		{"DELETE FROM instances WHERE id IN " + terminatedBefore, []any{before}},
	} {
		n, err := t.exec(old.text, append(old.args, batch-total)...)
		if total += n; err != nil {
			return 0, err
		}
	}
	return total, nil
}
