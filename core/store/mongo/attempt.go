package mongo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// attempt is the document of a result that was refused, or that belongs to a former generation.
type attempt struct {
	ID         string        `bson:"_id"` // request, generation, origin
	Request    string        `bson:"request"`
	Generation int           `bson:"gen"`
	Accepted   bool          `bson:"accepted,omitempty"`
	Phase      int           `bson:"phase"` // of the request when it was recorded; this and the next two are its position in the history
	Recorded   int64         `bson:"recorded"`
	Order      bson.ObjectID `bson:"order"`
	Result     string        `bson:"result"` // JSON without the output
	Output     output        `bson:"output"` // the part that a history shows
}

// The phases of a generation, in order.
const (
	phaseOpen = iota // a result of an earlier generation was refused
	phaseEnd         // the generation ended
	phaseOver
	phases
)

// newAttempt makes the document of an attempt that is not stored yet.
func (s *Store) newAttempt(r core.Result, phase int, accepted bool, recorded int64) (attempt, error) {
	cut := bounds.Cut(r)
	doc, err := bounds.Result(cut)
	return attempt{
		ID: fmt.Sprintf("%s/%s", r.Key(), origin(r)), Request: r.ID, Generation: r.Generation, Accepted: accepted,
		Phase: phase, Recorded: recorded, Order: bson.NewObjectID(),
		Result: string(doc), Output: output{Stdout: []byte(cut.Stdout), Stderr: []byte(cut.Stderr)},
	}, err
}

// attempt decodes the document.
func (a *attempt) attempt() (core.Attempt, error) {
	var r core.Result
	err := decode(a.Result, &r, a.Request)
	r.Stdout, r.Stderr = string(a.Output.Stdout), string(a.Output.Stderr)
	return core.Attempt{Result: r, Accepted: a.Accepted, Recorded: a.Recorded}, err
}

// refuse stores a late result for the history, unless its generation already has many. Concurrent calls may store a
// few more.
func (s *Store) refuse(ctx context.Context, a *recording, now *request) error {
	kept, err := s.count(ctx, attempts, m{"request": now.ID, "gen": a.result.Generation, "accepted": absent}, bounds.MaxRefused)
	if err != nil || kept >= bounds.MaxRefused {
		return err
	}
	phase := now.Generation*phases + phaseOpen
	if now.State != core.RequestQueued {
		phase = now.Generation*phases + phaseOver
	}
	doc, err := s.newAttempt(*a.result, phase, false, s.now())
	if err != nil {
		return err
	}
	if is, err := s.insert(ctx, attempts, doc); err != nil || !is {
		return err // a repeat changes nothing
	}
	_, err = s.change(ctx, requests, m{"_id": now.ID}, m{"$inc": m{"late": 1}, "$unset": m{"expired": ""}})
	return err
}

// Attempts returns a request's history, see school.ResultStore.
func (s *Store) Attempts(ctx context.Context, id string) ([]core.Attempt, error) {
	now, found, err := one[request](ctx, s, requests, there(id), fullRow...)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, core.NoRequest(id)
	}
	docs, err := some[attempt](ctx, s, attempts, m{"request": id}, by("-phase", "-recorded", "-order"), core.MaxGenerations)
	if err != nil {
		return nil, err
	}
	if now.Result != "" {
		last, err := s.lastAttempt(&now)
		if err != nil {
			return nil, err
		}
		docs = slices.DeleteFunc(docs, func(a attempt) bool { return a.ID == last.ID }) // a rerun was interrupted
		docs = append(docs, last)
	}
	slices.SortFunc(docs, func(a, b attempt) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Recorded, b.Recorded), bytes.Compare(a.Order[:], b.Order[:]))
	})
	docs = docs[max(0, len(docs)-core.MaxGenerations):]
	all := make([]core.Attempt, len(docs))
	for i := range docs {
		if all[i], err = docs[i].attempt(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lastAttempt returns the current generation's result as the history shows it.
func (s *Store) lastAttempt(now *request) (attempt, error) {
	var r core.Result
	if err := decode(now.Result, &r, now.ID); err != nil {
		return attempt{}, err
	}
	r.Stdout, r.Stderr = string(now.Output.Stdout), string(now.Output.Stderr)
	return s.newAttempt(r, now.Generation*phases+phaseEnd, true, now.Finished)
}

// Rerun starts a new generation, see school.ResultStore. Returns LIMIT after
// core.MaxGenerations of them.
func (s *Store) Rerun(ctx context.Context, id string, submitted int64) (core.Spec, error) {
	for {
		now, found, err := one[request](ctx, s, requests, there(id), append([]string{"removed"}, fullRow...)...)
		switch {
		case err == nil && !found:
			err = core.NoRequest(id)
		case err == nil && now.Removed:
			err = core.BeingRemoved(id)
		}
		if err != nil {
			return core.Spec{}, err
		}
		spec, started, err := s.rerun(ctx, &now, submitted)
		if err != nil || started {
			return spec, err
		}
	}
}

// rerun moves the result into the history and then clears its place, if the request is still as it was read.
func (s *Store) rerun(ctx context.Context, now *request, submitted int64) (spec core.Spec, started bool, err error) {
	if err := decode(now.Spec, &spec, now.ID); err != nil {
		return core.Spec{}, false, err
	}
	if spec, err = spec.Again(now.State, submitted); err != nil {
		return core.Spec{}, false, err
	}
	last, err := s.lastAttempt(now)
	if err == nil {
		_, err = s.insert(ctx, attempts, last)
	}
	if err != nil {
		return core.Spec{}, false, err
	}
	doc, err := encode(spec, now.ID)
	if err != nil {
		return core.Spec{}, false, err
	}
	set := m{"gen": spec.Generation, "spec": doc, "state": core.RequestQueued, "finished": 0}
	mark, err := s.markFor(ctx, spec.Assignment, spec.Submission)
	if err != nil {
		return core.Spec{}, false, err
	}
	if mark != "" {
		set[weighed] = mark
	}
	started, err = s.change(ctx, requests, m{"_id": now.ID, "gen": now.Generation, "state": now.State, "removed": absent}, m{
		"$set":   set,
		"$unset": m{"result": "", "output": "", "blame": "", "outcome": "", "score": "", "max_score": "", "changes": "", "begun": ""},
	})
	if err == nil && started {
		s.drop(ctx, now.Output)
		err = s.resulted(ctx, now.ID, spec.Submission, mark, school.Unscored)
	}
	return spec, started, err
}
