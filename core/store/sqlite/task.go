package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"

	"drover/core"
	"drover/core/store/bounds"
)

// CreateTask makes a task durable, see core.TaskLedger.
func (s *Store) CreateTask(ctx context.Context, task core.Task) (bool, error) {
	doc, err := bounds.Task(task)
	if err != nil {
		return false, err
	}
	return commit(ctx, s.committer, task.ID, len(doc), func(t *tx) (bool, error) {
		there, err := t.task(task.ID)
		switch {
		case err == nil && bounds.SameTask(there, task):
			return false, nil
		case err == nil:
			return false, core.TaskTaken(task.ID)
		case !core.Is(err, core.CodeNotFound):
			return false, err
		}
		class, _, _ := strings.Cut(task.About, "/")
		n, err := t.exec(`INSERT INTO tasks (id, generation, kind, unique_key, requester, class, parent, lane, state, ended, expires, doc)
			VALUES (?, 1, ?, ?, ?, ?, ?, ?, 'queued', 0, 0, ?) ON CONFLICT DO NOTHING`,
			task.ID, task.Kind, task.Unique, task.Requester, class, task.Parent, task.Lane, doc)
		return n == 1, err
	})
}

// task reads a task. Returns NOTFOUND.
func (t *tx) task(id string) (core.Task, error) {
	var task core.Task
	var doc []byte
	err := t.one("SELECT doc FROM tasks WHERE id = ?", []any{id}, &doc)
	if errors.Is(err, sql.ErrNoRows) {
		return task, core.NoTask(id)
	}
	if err != nil {
		return task, err
	}
	return task, decode(doc, &task, id)
}

// generation reads a task that has had a generation. Returns NOTFOUND.
func (t *tx) generation(id string, n int) (core.Task, error) {
	task, err := t.task(id)
	if err == nil {
		err = core.CheckGeneration("task", id, n, task.Generation)
	}
	return task, err
}

// change writes the changeable parts of a task.
func (t *tx) change(task core.Task) error {
	doc, err := bounds.EncodeTask(task)
	if err != nil {
		return err
	}
	var expires int64
	if task.Download != nil {
		expires = task.Download.Expires
	}
	_, err = t.exec("UPDATE tasks SET generation = ?, state = ?, ended = ?, expires = ?, doc = ? WHERE id = ?",
		task.Generation, string(task.State), task.Ended, expires, doc, task.ID)
	return err
}

// EndTask records a task's end, see core.TaskLedger.
func (s *Store) EndTask(ctx context.Context, e core.TaskEnd) (bool, error) {
	if err := bounds.TaskEnd(e); err != nil {
		return false, err
	}
	return commit(ctx, s.committer, e.ID, len(e.Note), func(t *tx) (bool, error) {
		task, err := t.generation(e.ID, e.Generation)
		if err != nil || !task.End(e, s.now()) {
			return false, err
		}
		if err := t.change(task); err != nil || len(task.Notify) == 0 {
			return true, err
		}
		return true, t.tell(core.EventTaskEnded, task.ID, task.Generation)
	})
}

// FailTask notes a failed try, see core.TaskLedger.
func (s *Store) FailTask(ctx context.Context, id string, f core.TaskFailure) error {
	_, err := commit(ctx, s.committer, id, len(f.Text), func(t *tx) (bool, error) {
		task, err := t.generation(id, f.Generation)
		if err != nil || !task.Fail(f) {
			return false, err
		}
		return true, t.change(task)
	})
	return err
}

// RetryTask starts a task's next generation, see core.TaskLedger.
func (s *Store) RetryTask(ctx context.Context, id string, now int64) (core.Task, error) {
	return commit(ctx, s.committer, id, 0, func(t *tx) (core.Task, error) {
		task, err := t.task(id)
		if err != nil {
			return core.Task{}, err
		}
		if err := task.Retry(now); err != nil {
			return core.Task{}, err
		}
		waits, err := t.any("SELECT 1 FROM tasks WHERE unique_key = ? AND unique_key <> '' AND state = 'queued'", task.Unique)
		if err != nil || waits {
			return core.Task{}, cmp.Or(err, core.TaskTwin(id))
		}
		return task, t.change(task)
	})
}

// GetTask returns one task, see core.TaskLedger.
func (s *Store) GetTask(ctx context.Context, id string) (core.Task, error) {
	tasks, err := s.tasks(ctx, "SELECT doc FROM tasks WHERE id = ?", id)
	if err != nil {
		return core.Task{}, err
	}
	if len(tasks) == 0 {
		return core.Task{}, core.NoTask(id)
	}
	return tasks[0], nil
}

// UnfinishedTasks lists tasks without an end, see core.TaskLedger.
func (s *Store) UnfinishedTasks(ctx context.Context, after string, limit int) ([]core.Task, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	return s.tasks(ctx, "SELECT doc FROM tasks WHERE state = 'queued' AND id > ? ORDER BY id LIMIT ?", after, limit)
}

// ListTasks returns a page of tasks, see core.TaskLedger.
func (s *Store) ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error) {
	limit, err := bounds.TaskFilter(f)
	if err != nil {
		return nil, err
	}
	where, args := []string{"1"}, []any{}
	for _, c := range []struct{ text, value string }{
		{"kind = ?", f.Kind},
		{"requester = ? AND requester <> ''", f.Requester},
		{"class = ? AND class <> ''", f.Class},
		{"parent = ? AND parent <> ''", f.Parent},
		{"lane = ? AND lane <> ''", f.Lane},
		{"id < ?", f.Before},
	} {
		if c.value != "" {
			where, args = append(where, c.text), append(args, c.value)
		}
	}
	if n := len(f.States); n > 0 {
		where = append(where, "state IN (?"+strings.Repeat(", ?", n-1)+")")
		for _, state := range f.States {
			args = append(args, string(state))
		}
	}
	return s.tasks(ctx, "SELECT doc FROM tasks WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
}

func (s *Store) tasks(ctx context.Context, query string, args ...any) ([]core.Task, error) {
	var all []core.Task
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var doc sql.RawBytes
		if err := rows.Scan(&doc); err != nil {
			return err
		}
		var task core.Task
		err := decode(doc, &task, "a task")
		all = append(all, task)
		return err
	})
	return all, err
}

// CountChildren counts a task's children, see core.TaskLedger.
func (s *Store) CountChildren(ctx context.Context, parent string) (core.TaskTally, error) {
	var tally core.TaskTally
	err := s.rows(ctx, `SELECT count(*), count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'dead'),
		count(*) FILTER (WHERE state = 'cancelled') FROM tasks WHERE parent = ? AND parent <> ''`, []any{parent}, func(rows *sql.Rows) error {
		return rows.Scan(&tally.Total, &tally.Done, &tally.Dead, &tally.Cancelled)
	})
	return tally, err
}
