package sqlite

import (
	"context"
	"time"
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

// Purge deletes requests, tasks and batches that ended before the time, see school.ResultStore.
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

// purge deletes at most batch rows: requests with their history, then tasks, then batches.
func (t *tx) purge(before, now int64, batch int) (int, error) {
	if _, err := t.exec("DELETE FROM attempts WHERE id IN "+finishedBefore, before, batch); err != nil {
		return 0, err
	}
	requests, err := t.exec("DELETE FROM requests WHERE id IN "+finishedBefore, before, batch)
	if err != nil {
		return 0, err
	}
	tasks, err := t.exec("DELETE FROM tasks WHERE id IN "+endedBefore, before, now, batch-requests)
	if err != nil {
		return 0, err
	}
	batches, err := t.exec("DELETE FROM batches WHERE id IN "+emptyBefore, before, batch-requests-tasks)
	return requests + tasks + batches, err
}
