package mongo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"
)

// Record stores a result, see school.ResultStore.
func (s *Store) Record(ctx context.Context, r core.Result) (bool, error) {
	doc, err := bounds.Result(r)
	if err != nil {
		return false, err
	}
	a := &recording{result: &r, doc: string(doc), origin: origin(r)}
	if long(&r) {
		// Long output is stored first, but not for a request that has ended.
		if answer, done, err := s.settled(ctx, a); done || err != nil {
			if done {
				s.dropOthers(ctx, &r) // its Record may have been interrupted before this
			}
			return answer, err
		}
	}
	if a.output, err = s.pack(ctx, a); err != nil {
		return false, err
	}
	return s.record(ctx, a)
}

// recording is one call of Record.
type recording struct {
	result *core.Result
	doc    string // JSON without the output
	origin string
	output output
	notify bool // somebody is to be notified of the end
	long   bool // there may be stored long output of the request

	changes string // that are kept of the request
	was     string // its spec, if it was changed
	ran     string // the spec of the claim that made the result, if that is another
	pool    string // of ran

	submission string // that the request grades
	mark       string // to be left if the result may decide which submission counts
}

// origin returns a short name of a result's origin.
func origin(r core.Result) string {
	sum := sha256.Sum256([]byte(bounds.Origin(r)))
	return hex.EncodeToString(sum[:16])
}

// record accepts the result, or returns why it cannot.
func (s *Store) record(ctx context.Context, a *recording) (bool, error) {
	for {
		answer, err := s.accept(ctx, a)
		done := answer
		if err == nil && done {
			err = s.resulted(ctx, a.result.ID, a.submission, a.mark, school.Scored)
		}
		if err == nil && !done {
			answer, done, err = s.settled(ctx, a)
		}
		if done && a.long {
			s.dropOthers(ctx, a.result)
		}
		if done || err != nil {
			return answer, err
		}
	}
}

// accept makes the result the terminal one of the current generation. This one change decides.
func (s *Store) accept(ctx context.Context, a *recording) (bool, error) {
	r, now := a.result, s.now()
	which := m{"_id": r.ID, "gen": r.Generation, "state": core.RequestQueued, "notify": absent, "long": absent, "changes": absent, "submission": absent}
	set := m{"state": r.State, "finished": now, "result": a.doc}
	if !a.output.IsZero() {
		set["output"] = a.output
	}
	if r.Blame != "" {
		set["blame"] = r.Blame
	}
	if outcome := core.OutcomeOf(r); outcome != "" {
		set["outcome"] = outcome
	}
	for name, score := range map[string]*float64{"score": r.Score, "max_score": r.MaxScore} {
		if score != nil {
			set[name] = *score
		}
	}
	how := m{"$set": set, "$push": m{"ends": end{r.Generation, r.State, a.origin}}, "$unset": m{"expired": ""}}
	if a.long {
		which["long"] = true
	}
	if a.changes != "" {
		which["changes"], which["spec"] = a.changes, a.was
	}
	if a.ran != "" {
		set["spec"], set["pool"] = a.ran, a.pool
	}
	if a.submission != "" {
		which["submission"] = a.submission
	}
	if a.mark != "" {
		set[weighed] = a.mark
	}
	if a.notify {
		which["notify"] = true
		tell(how, r.Generation, now)
	}
	return s.change(ctx, requests, which, how)
}

// settled answers a repeated or late result, and keeps a late one for the history. Returns false if the result may be
// accepted.
func (s *Store) settled(ctx context.Context, a *recording) (answer, done bool, err error) {
	r := a.result
	now, found, err := one[request](ctx, s, requests, there(r.ID), "gen", "state", "ends", "notify", "long", "changes", "submission", "assignment")
	if err != nil {
		return false, false, err
	}
	if !found {
		return false, false, core.NoRequest(r.ID)
	}
	if err := core.CheckGeneration("request", r.ID, r.Generation, now.Generation); err != nil {
		return false, false, err
	}
	last, over := now.ended(r.Generation)
	if !over {
		a.notify, a.long, a.submission = now.Notify, now.Long, now.Submission
		if a.mark, err = s.markFor(ctx, now.Assignment, now.Submission); err != nil {
			return false, false, err
		}
		return false, false, s.changed(ctx, a, now.Changes)
	}
	if last.Origin == a.origin {
		return true, true, nil
	}
	return false, true, s.refuse(ctx, a, &now)
}

// Terminal reports which keys have ended, see school.ResultStore. Returns INVALID for an invalid key.
func (s *Store) Terminal(ctx context.Context, keys []string) (map[string]core.RequestState, error) {
	ended := make(map[string]core.RequestState, len(keys))
	for page := range slices.Chunk(keys, terminalPage) {
		asked, ids := map[string]bool{}, []string{}
		for _, key := range page {
			id, _, err := core.ParseKey(key)
			if err != nil {
				return nil, err
			}
			asked[key], ids = true, append(ids, id)
		}
		docs, err := some[request](ctx, s, requests, m{"_id": m{"$in": ids}, "state": m{"$ne": gone}}, nil, 0, "ends")
		if err != nil {
			return nil, err
		}
		for _, doc := range docs {
			for _, e := range doc.Ends {
				if key := core.Key(doc.ID, e.Generation); asked[key] {
					ended[key] = e.State
				}
			}
		}
	}
	return ended, nil
}

// terminalPage is how many keys one query of Terminal takes.
const terminalPage = 1000
