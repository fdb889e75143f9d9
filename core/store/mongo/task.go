package mongo

import (
	"context"
	"strings"

	"drover/core"
	"drover/core/store/bounds"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
)

// task is the document of a task.
type task struct {
	ID        string         `bson:"_id"`
	Revision  int64          `bson:"revision"`         // grows with every change
	JSON      string         `bson:"json"`             // the whole task
	Unique    string         `bson:"unique,omitempty"` // its unique key while it is queued
	Kind      string         `bson:"kind"`
	Requester string         `bson:"requester,omitempty"`
	Class     string         `bson:"class,omitempty"` // that it is about
	Parent    string         `bson:"parent,omitempty"`
	Lane      string         `bson:"lane,omitempty"`
	State     core.TaskState `bson:"state"`             // of the current generation: queued or an end
	Ended     int64          `bson:"ended,omitempty"`   // absent until it has ended
	Expires   int64          `bson:"expires,omitempty"` // when its download expires
	Box       outbox         `bson:",inline"`
}

// read decodes the task.
func (t *task) read() (core.Task, error) {
	var one core.Task
	return one, decode(t.JSON, &one, t.ID)
}

// CreateTask makes a task durable, see core.TaskLedger.
func (s *Store) CreateTask(ctx context.Context, t core.Task) (bool, error) {
	doc, err := bounds.Task(t)
	if err != nil {
		return false, err
	}
	class, _, _ := strings.Cut(t.About, "/")
	is, err := s.insert(ctx, tasks, task{
		ID: t.ID, Revision: 1, JSON: string(doc), Unique: t.Unique, Kind: t.Kind, Requester: t.Requester,
		Class: class, Parent: t.Parent, Lane: t.Lane, State: core.TaskQueued,
	})
	if err != nil || is {
		return is, err
	}
	there, err := s.GetTask(ctx, t.ID)
	switch {
	case core.Is(err, core.CodeNotFound):
		return false, nil // a task with its unique key waits
	case err == nil && !bounds.SameTask(there, t):
		err = core.TaskTaken(t.ID)
	}
	return false, err
}

// changeTask reads a task that has had a generation, calls do and writes the result, and repeats this if the task was
// changed in the meantime. Do returns false if there is nothing to change, and may add to the update of the document.
// Returns NOTFOUND.
func (s *Store) changeTask(ctx context.Context, id string, generation int, do func(t *core.Task, how m) (bool, error)) (core.Task, bool, error) {
	for {
		doc, found, err := one[task](ctx, s, tasks, m{"_id": id}, "json", "revision")
		if err == nil && !found {
			err = core.NoTask(id)
		}
		if err != nil {
			return core.Task{}, false, err
		}
		t, err := doc.read()
		if err == nil && generation != anyGeneration {
			err = core.CheckGeneration("task", id, generation, t.Generation)
		}
		if err != nil {
			return core.Task{}, false, err
		}
		how := m{}
		if changed, err := do(&t, how); err != nil || !changed {
			return t, false, err
		}
		if err := edit(how, &t, doc.Revision+1); err != nil {
			return core.Task{}, false, err
		}
		is, err := s.change(ctx, tasks, m{"_id": id, "revision": doc.Revision}, how)
		if err != nil || is {
			return t, is, err
		}
	}
}

// anyGeneration stands for any generation.
const anyGeneration = -1

// edit adds the document's other fields to an update.
func edit(how m, t *core.Task, revision int64) error {
	doc, err := bounds.EncodeTask(*t)
	set, unset := m{"revision": revision, "json": string(doc), "state": t.State}, m{}
	if t.Unique != "" && t.State == core.TaskQueued {
		set["unique"] = t.Unique
	} else {
		unset["unique"] = ""
	}
	for name, value := range map[string]int64{"ended": t.Ended, "expires": expiry(t)} {
		if value > 0 {
			set[name] = value
		} else {
			unset[name] = ""
		}
	}
	how["$set"], how["$unset"] = set, unset
	return err
}

func expiry(t *core.Task) int64 {
	if t.Download == nil {
		return 0
	}
	return t.Download.Expires
}

// EndTask records a task's end, see core.TaskLedger.
func (s *Store) EndTask(ctx context.Context, e core.TaskEnd) (bool, error) {
	if err := bounds.TaskEnd(e); err != nil {
		return false, err
	}
	_, is, err := s.changeTask(ctx, e.ID, e.Generation, func(t *core.Task, how m) (bool, error) {
		is := t.End(e, s.now())
		if is && len(t.Notify) > 0 {
			tell(how, t.Generation, t.Ended)
		}
		return is, nil
	})
	return is, err
}

// FailTask notes a failed try, see core.TaskLedger.
func (s *Store) FailTask(ctx context.Context, id string, f core.TaskFailure) error {
	_, _, err := s.changeTask(ctx, id, f.Generation, func(t *core.Task, _ m) (bool, error) {
		return t.Fail(f), nil
	})
	return err
}

// RetryTask starts a task's next generation, see core.TaskLedger.
func (s *Store) RetryTask(ctx context.Context, id string, now int64) (core.Task, error) {
	t, _, err := s.changeTask(ctx, id, anyGeneration, func(t *core.Task, _ m) (bool, error) {
		err := t.Retry(now)
		return err == nil, err
	})
	if isTaken(err) {
		err = core.TaskTwin(id)
	}
	if err != nil {
		return core.Task{}, err
	}
	return t, nil
}

// GetTask returns one task, see core.TaskLedger.
func (s *Store) GetTask(ctx context.Context, id string) (core.Task, error) {
	return single[core.Task](ctx, s, core.NoTask(id), tasks, m{"_id": id})
}

// UnfinishedTasks lists tasks without an end, see core.TaskLedger.
func (s *Store) UnfinishedTasks(ctx context.Context, after string, limit int) ([]core.Task, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	return documents[core.Task](ctx, s, tasks, m{"state": core.TaskQueued, "_id": m{"$gt": after}}, by("_id"), limit)
}

// ListTasks returns a page of tasks, see core.TaskLedger.
func (s *Store) ListTasks(ctx context.Context, f core.TaskFilter) ([]core.Task, error) {
	limit, err := bounds.TaskFilter(f)
	if err != nil {
		return nil, err
	}
	which := selection(map[string]string{"kind": f.Kind, "requester": f.Requester, "class": f.Class, "parent": f.Parent, "lane": f.Lane})
	if f.Before != "" {
		which["_id"] = m{"$lt": f.Before}
	}
	if len(f.States) > 0 {
		which["state"] = m{"$in": f.States}
	}
	return documents[core.Task](ctx, s, tasks, which, by("-_id"), limit)
}

// CountChildren counts a task's children, see core.TaskLedger.
func (s *Store) CountChildren(ctx context.Context, parent string) (core.TaskTally, error) {
	var tally core.TaskTally
	if parent == "" {
		return tally, nil
	}
	var groups []struct {
		State core.TaskState `bson:"_id"`
		N     int            `bson:"n"`
	}
	err := s.call(ctx, func(ctx context.Context) error {
		cursor, err := s.in(tasks).Aggregate(ctx, driver.Pipeline{
			bson.D{{Key: "$match", Value: m{"parent": parent}}},
			bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: "$state"}, {Key: "n", Value: m{"$sum": 1}}}}},
		})
		if err != nil {
			return err
		}
		return cursor.All(ctx, &groups)
	})
	for _, g := range groups {
		tally.Total += g.N
		switch g.State {
		case core.TaskDone:
			tally.Done = g.N
		case core.TaskDead:
			tally.Dead = g.N
		case core.TaskCancelled:
			tally.Cancelled = g.N
		case core.TaskQueued, core.TaskDelayed, core.TaskRunning, core.TaskCancelling: // counted in the total only
		}
	}
	return tally, err
}

// purgeTasks deletes at most limit tasks that ended before a time.
func (s *Store) purgeTasks(ctx context.Context, before int64, limit int) (int, error) {
	for _, in := range boxes { // whose outbox was emptied by an interrupted call
		if err := s.close(ctx, in, m{}); err != nil {
			return 0, err
		}
	}
	due := m{"ended": m{"$gt": 0, "$lt": before}, "outbox_at": absent, "$or": bson.A{m{"expires": absent}, m{"expires": m{"$lte": s.now()}}}}
	docs, err := some[task](ctx, s, tasks, due, by("ended", "_id"), limit, "_id")
	if err != nil || len(docs) == 0 {
		return 0, err
	}
	ids := make([]string, len(docs))
	for i, doc := range docs {
		ids[i] = doc.ID
	}
	due["_id"] = m{"$in": ids}
	return s.remove(ctx, tasks, due)
}

// downloads calls fn with the digests of downloads that have not expired.
func (s *Store) downloads(ctx context.Context, fn func(digest string) error) error {
	all, err := documents[core.Task](ctx, s, tasks, m{"expires": m{"$gt": s.now()}}, nil, 0)
	for _, t := range all {
		if err := fn(t.Download.Digest); err != nil {
			return err
		}
	}
	return err
}
