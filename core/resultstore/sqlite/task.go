package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"drover/core"
	"drover/core/resultstore/bounds"
)

// CreateTask makes a task durable, see core.ResultStore. The same task again
// returns false. Returns CONFLICT if the id is taken by another task.
func (s *Store) CreateTask(ctx context.Context, task core.Task) (bool, error) {
	if err := bounds.Task(task); err != nil {
		return false, err
	}
	return commit(ctx, s.committer, task.ID, len(task.Args), func(t *tx) (bool, error) {
		var kind, unique string
		var args []byte
		err := t.one("SELECT kind, args, unique_key FROM tasks WHERE id = ?", []any{task.ID}, &kind, &args, &unique)
		switch {
		case err == nil && kind == task.Kind && unique == task.Unique && bytes.Equal(args, task.Args):
			return false, nil
		case err == nil:
			return false, core.Errorf(core.CodeConflict, task.ID, "task id %s is taken by another task: make a new id", task.ID)
		case !errors.Is(err, sql.ErrNoRows):
			return false, err
		}
		n, err := t.exec(`INSERT INTO tasks (id, kind, args, unique_key, created, state, ended, note)
			VALUES (?, ?, ?, ?, ?, 'queued', 0, '') ON CONFLICT DO NOTHING`,
			task.ID, task.Kind, append([]byte{}, task.Args...), task.Unique, task.Created)
		return n == 1, err
	})
}

// EndTask records a task's end, see core.ResultStore. Returns NOTFOUND for an
// unknown id.
func (s *Store) EndTask(ctx context.Context, id string, state core.TaskState, note string) (bool, error) {
	if err := bounds.TaskEnd(id, state, note); err != nil {
		return false, err
	}
	return commit(ctx, s.committer, id, len(note), func(t *tx) (bool, error) {
		n, err := t.exec("UPDATE tasks SET state = ?, ended = ?, note = ? WHERE id = ? AND state = 'queued'", string(state), s.now(), note, id)
		if err != nil || n == 1 {
			return n == 1, err
		}
		err = t.one("SELECT id FROM tasks WHERE id = ?", []any{id}, &id)
		if errors.Is(err, sql.ErrNoRows) {
			return false, core.Errorf(core.CodeNotFound, id, "there is no task %s", id)
		}
		return false, err
	})
}

const selectTasks = "SELECT id, kind, args, unique_key, created, state, ended, note FROM tasks "

// UnfinishedTasks lists tasks without an end, see core.ResultStore.
func (s *Store) UnfinishedTasks(ctx context.Context, after string, limit int) ([]core.Task, error) {
	return s.tasks(ctx, selectTasks+"WHERE state = 'queued' AND id > ? ORDER BY id LIMIT ?", limit, after, limit)
}

// ListTasks lists tasks, newest first.
func (s *Store) ListTasks(ctx context.Context, limit int) ([]core.Task, error) {
	return s.tasks(ctx, selectTasks+"ORDER BY created DESC, id DESC LIMIT ?", limit, limit)
}

func (s *Store) tasks(ctx context.Context, query string, limit int, args ...any) ([]core.Task, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	var all []core.Task
	err := s.rows(ctx, query, args, func(rows *sql.Rows) error {
		var t core.Task
		var doc []byte
		err := rows.Scan(&t.ID, &t.Kind, &doc, &t.Unique, &t.Created, &t.State, &t.Ended, &t.Note)
		if len(doc) > 0 {
			t.Args = doc
		}
		all = append(all, t)
		return err
	})
	return all, err
}
