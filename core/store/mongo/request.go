package mongo

import (
	"context"
	"encoding/json"
	"fmt"

	"drover/core"
	"drover/core/store/bounds"
)

// gone is the state of a request that is being deleted: to callers it does not exist any more.
const gone = "gone"

// request is the document of a request. Optional fields are left out when empty.
type request struct {
	ID         string `bson:"_id"`
	Generation int    `bson:"gen"` // the current one
	Submitter  string `bson:"submitter"`
	Pool       string `bson:"pool"`
	Assignment string `bson:"assignment,omitempty"`
	Submission string `bson:"submission,omitempty"` // that it grades
	Once       string `bson:"once,omitempty"`       // submitter and idempotency key
	Spec       string `bson:"spec"`                 // JSON of the current generation
	Changes    string `bson:"changes,omitempty"`    // JSON of what is kept of its changes
	Begun      string `bson:"begun,omitempty"`      // the claim that began its current generation, if that must not run twice
	Notify     bool   `bson:"notify,omitempty"`
	Long       bool   `bson:"long,omitempty"` // there may be documents with its output

	State    core.RequestState `bson:"state"`    // of the current generation: queued or an end
	Finished int64             `bson:"finished"` // 0 until it has ended
	Ends     []end             `bson:"ends,omitempty"`
	Result   string            `bson:"result,omitempty"` // JSON without the output
	Output   output            `bson:"output,omitempty"`

	Blame    core.Blame         `bson:"blame,omitempty"` // and outcome and scores: of the result
	Outcome  core.ResultOutcome `bson:"outcome,omitempty"`
	Score    *float64           `bson:"score,omitempty"`
	MaxScore *float64           `bson:"max_score,omitempty"`

	Kept    bool   `bson:"kept,omitempty"`    // its submission refers to it, or did
	Removed bool   `bson:"removed,omitempty"` // it is to be removed once it has ended
	Expired bool   `bson:"expired,omitempty"` // its outputs were deleted
	Late    int    `bson:"late,omitempty"`    // the length of its history
	Box     outbox `bson:",inline"`
}

// end is the end of one generation.
type end struct {
	Generation int               `bson:"gen"`
	State      core.RequestState `bson:"state"`
	Origin     string            `bson:"origin"` // origin of the result
}

// ended returns a generation's end, if it has ended.
func (r *request) ended(generation int) (end, bool) {
	for _, e := range r.Ends {
		if e.Generation == generation {
			return e, true
		}
	}
	return end{}, false
}

// The fields of a row: with its output, and without.
var (
	fullRow  = append([]string{"output"}, briefRow...)
	briefRow = []string{"spec", "state", "finished", "result", "gen"}
)

// there matches a request by id, unless it is being deleted.
func there(id string) m { return m{"_id": id, "state": m{"$ne": gone}} }

// Create makes a request durable, see school.ResultStore.
func (s *Store) Create(ctx context.Context, spec core.Spec) (core.Row, bool, error) {
	doc, err := bounds.Spec(spec)
	if err != nil {
		return core.Row{}, false, err
	}
	return s.create(ctx, spec, string(doc), false)
}

// create creates a request. With kept, purges spare it.
func (s *Store) create(ctx context.Context, spec core.Spec, doc string, kept bool) (core.Row, bool, error) {
	fresh := request{
		ID: spec.ID, Generation: 1, Submitter: spec.Submitter, Pool: spec.Pool, Assignment: spec.Assignment, Submission: spec.Submission,
		Once: once(spec.Submitter, spec.Idempotency), Spec: doc, Notify: spec.Notifies(), State: core.RequestQueued, Kept: kept,
	}
	for {
		is, err := s.insert(ctx, requests, fresh)
		if err != nil {
			return core.Row{}, false, err
		}
		if is {
			return core.Row{Spec: spec, State: core.RequestQueued}, true, nil
		}
		row, found, err := s.taken(ctx, &spec)
		if err != nil || found {
			return row, false, err
		}
		// The existing document is being deleted: do it now.
		if _, err := s.sweep(ctx, m{"_id": spec.ID}, 1); err != nil {
			return core.Row{}, false, err
		}
	}
}

// once returns the unique value of an idempotency key; "" for no key.
func once(submitter, key string) string {
	if key == "" {
		return ""
	}
	return fmt.Sprintf("%d %s %s", len(submitter), submitter, key)
}

// taken returns the existing row of spec's id or idempotency key. Returns CONFLICT if it is another request.
func (s *Store) taken(ctx context.Context, spec *core.Spec) (core.Row, bool, error) {
	if key := once(spec.Submitter, spec.Idempotency); key != "" {
		row, found, err := s.row(ctx, m{"once": key}, fullRow)
		if err != nil || found {
			return row, found, err
		}
	}
	row, found, err := s.row(ctx, there(spec.ID), fullRow)
	if err != nil || !found {
		return core.Row{}, false, err
	}
	if !spec.SameAs(row.Spec) {
		err = core.RequestTaken(spec.ID)
	}
	return row, true, err
}

// row returns the row that matches.
func (s *Store) row(ctx context.Context, which m, fields []string) (core.Row, bool, error) {
	for missed := ""; ; {
		doc, found, err := one[request](ctx, s, requests, which, fields...)
		if err != nil || !found {
			return core.Row{}, false, err
		}
		row, whole, err := s.read(ctx, &doc)
		if err != nil || whole {
			return row, true, err
		}
		if missed == doc.Output.Rest {
			return core.Row{}, false, core.Errorf(core.CodeUnavailable, doc.ID, "the result store has lost output of request %s: restore a backup", doc.ID)
		}
		missed = doc.Output.Rest // perhaps a rerun removed it in the meantime
	}
}

// read decodes a row. Whole is false if a part of its output is missing.
func (s *Store) read(ctx context.Context, doc *request) (row core.Row, whole bool, err error) {
	row = core.Row{State: doc.State, Finished: doc.Finished}
	if err := decode(doc.Spec, &row.Spec, doc.ID); err != nil {
		return core.Row{}, false, err
	}
	if doc.Result == "" {
		return row, true, nil
	}
	row.Result = &core.Result{}
	if err := decode(doc.Result, row.Result, doc.ID); err != nil {
		return core.Row{}, false, err
	}
	whole, err = s.unpack(ctx, doc, row.Result)
	return row, whole, err
}

// decode decodes a document that the store wrote itself.
func decode(doc string, into any, id string) error {
	return core.Wrap(json.Unmarshal([]byte(doc), into), core.CodeUnavailable, id, "the result store holds something unreadable for %s: restore a backup", id)
}

// encode encodes what decode reads.
func encode(what any, id string) (string, error) {
	doc, err := json.Marshal(what)
	return string(doc), core.Wrap(err, core.CodeInvalid, id, "%s cannot be written as JSON", id)
}

// Get returns one row with its whole result, see school.ResultStore.
func (s *Store) Get(ctx context.Context, id string) (core.Row, error) {
	row, found, err := s.row(ctx, there(id), fullRow)
	if err != nil || found {
		return row, err
	}
	if err := s.settle(ctx, m{"request": id}); err != nil {
		return core.Row{}, err
	}
	if row, found, err = s.row(ctx, there(id), fullRow); err == nil && !found {
		err = core.NoRequest(id)
	}
	return row, err
}

// List returns a page of rows, see school.ResultStore.
func (s *Store) List(ctx context.Context, f core.Filter) ([]core.Row, error) {
	limit, err := bounds.Filter(f)
	if err != nil {
		return nil, err
	}
	if f.Idempotency == "" { // no request of a submission has a key
		if err := s.settle(ctx, m{}); err != nil {
			return nil, err
		}
	}
	which := m{"state": m{"$ne": gone}}
	for name, value := range map[string]string{"submitter": f.Submitter, "pool": f.Pool, "assignment": f.Assignment, "once": once(f.Submitter, f.Idempotency)} {
		if value != "" {
			which[name] = value
		}
	}
	ids := m{}
	if f.Before != "" {
		ids["$lt"] = f.Before
	}
	if f.After != "" {
		ids["$gt"] = f.After
	}
	if len(ids) > 0 {
		which["_id"] = ids
	}
	if len(f.States) > 0 {
		which["state"] = m{"$in": f.States}
	}
	docs, err := some[request](ctx, s, requests, which, by("-_id"), limit, briefRow...)
	if err != nil {
		return nil, err
	}
	rows := make([]core.Row, len(docs))
	for i := range docs {
		if rows[i], _, err = s.read(ctx, &docs[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Unfinished lists specs without an end, see school.ResultStore.
func (s *Store) Unfinished(ctx context.Context, after string, limit int) ([]core.Spec, error) {
	if err := bounds.Page(limit); err != nil {
		return nil, err
	}
	if err := s.settle(ctx, m{}); err != nil {
		return nil, err
	}
	docs, err := some[request](ctx, s, requests, m{"state": core.RequestQueued, "_id": m{"$gt": after}}, by("_id"), limit, "spec")
	if err != nil {
		return nil, err
	}
	specs := make([]core.Spec, len(docs))
	for i, doc := range docs {
		if err := decode(doc.Spec, &specs[i], doc.ID); err != nil {
			return nil, err
		}
	}
	return specs, nil
}
