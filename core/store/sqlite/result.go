package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
	return commit(ctx, s.committer, r.ID, len(doc)+len(r.Stdout)+len(r.Stderr), func(t *tx) (bool, error) {
		var generation int
		var state core.RequestState
		var notify, changed bool
		var submission string
		err := t.one("SELECT generation, state, notify, changes <> x'', submission FROM requests WHERE id = ?", []any{r.ID},
			&generation, &state, &notify, &changed, &submission)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return false, core.NoRequest(r.ID)
		case err != nil:
			return false, err
		}
		if err := core.CheckGeneration("request", r.ID, r.Generation, generation); err != nil {
			return false, err
		}
		if r.Generation < generation || state.Terminal() {
			return t.refuse(&r, doc, s.now())
		}
		if changed && r.Token != "" {
			if err := t.ran(&r); err != nil {
				return false, err
			}
		}
		err = t.accept(&r, doc, s.now())
		if err == nil && submission != "" {
			err = t.weigh(submission, school.Scored)
		}
		if err != nil || !notify {
			return true, err
		}
		return true, t.tell(core.EventRequestEnded, r.ID, r.Generation)
	})
}

const insertAttempt = `INSERT INTO attempts (id, generation, origin, accepted, recorded, state, result, stdout, stderr)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`

// accept makes r the terminal result of the current generation.
func (t *tx) accept(r *core.Result, doc []byte, now int64) error {
	_, err := t.exec(insertAttempt, r.ID, r.Generation, bounds.Origin(*r), 1, now, string(r.State), doc, []byte(r.Stdout), []byte(r.Stderr))
	if err != nil {
		return err
	}
	_, err = t.exec("UPDATE requests SET state = ?, finished = ?, expired = 0, blame = ?, outcome = ?, score = ?, max_score = ? WHERE id = ?",
		string(r.State), now, string(r.Blame), string(core.OutcomeOf(r)), r.Score, r.MaxScore, r.ID)
	return err
}

// refuse handles a result of a generation that has its terminal one: a repeat gets the first answer; any other is
// refused and kept for the history.
func (t *tx) refuse(r *core.Result, doc []byte, now int64) (bool, error) {
	var accepted bool
	origin := bounds.Origin(*r)
	err := t.one("SELECT accepted FROM attempts WHERE id = ? AND generation = ? AND origin = ?", []any{r.ID, r.Generation, origin}, &accepted)
	if !errors.Is(err, sql.ErrNoRows) {
		return accepted, err
	}
	var kept int
	err = t.one("SELECT count(*) FROM attempts WHERE id = ? AND generation = ?", []any{r.ID, r.Generation}, &kept)
	if err != nil || kept > bounds.MaxRefused {
		return false, err
	}
	cut := bounds.Cut(*r)
	if cut.Truncated != r.Truncated {
		if doc, err = bounds.Result(cut); err != nil {
			return false, err
		}
	}
	_, err = t.exec(insertAttempt, r.ID, r.Generation, origin, 0, now, string(r.State), doc, []byte(cut.Stdout), []byte(cut.Stderr))
	if err == nil {
		_, err = t.exec("UPDATE requests SET expired = 0 WHERE id = ? AND expired = 1", r.ID)
	}
	return false, err
}

// terminalPage is how many keys one query of Terminal takes.
const terminalPage = 1000

// Terminal reports which keys have ended, see school.ResultStore. Returns INVALID for an invalid key.
func (s *Store) Terminal(ctx context.Context, keys []string) (map[string]core.RequestState, error) {
	ended := make(map[string]core.RequestState, len(keys))
	for page := range slices.Chunk(keys, terminalPage) {
		doc, err := keyPairs(page)
		if err != nil {
			return nil, err
		}
		err = s.rows(ctx, `SELECT a.id, a.generation, a.state FROM json_each(?) k
			JOIN attempts a ON a.id = k.value ->> 0 AND a.generation = k.value ->> 1 AND a.accepted = 1`,
			[]any{doc}, func(rows *sql.Rows) error {
				var id string
				var generation int
				var state core.RequestState
				err := rows.Scan(&id, &generation, &state)
				ended[core.Key(id, generation)] = state
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return ended, nil
}

// keyPairs writes keys as JSON, as pairs of id and generation. Returns INVALID for an invalid key.
func keyPairs(keys []string) (string, error) {
	pairs := make([][2]any, len(keys))
	for i, key := range keys {
		id, generation, err := core.ParseKey(key)
		if err != nil {
			return "", err
		}
		pairs[i] = [2]any{id, generation}
	}
	doc, err := json.Marshal(pairs)
	return string(doc), core.Wrap(err, core.CodeInternal, "", "keys cannot be written as JSON")
}

// Attempts returns a request's history, see school.ResultStore.
func (s *Store) Attempts(ctx context.Context, id string) ([]core.Attempt, error) {
	var all []core.Attempt
	err := s.rows(ctx, `SELECT result, accepted, recorded, substr(stdout, 1, ?2), substr(stderr, 1, ?2)
		FROM attempts WHERE seq IN (SELECT seq FROM attempts WHERE id = ?1 ORDER BY seq DESC LIMIT ?3) ORDER BY seq`,
		[]any{id, bounds.AttemptOutput + 1, core.MaxGenerations}, func(rows *sql.Rows) error {
			var a core.Attempt
			var doc, stdout, stderr sql.RawBytes
			if err := rows.Scan(&doc, &a.Accepted, &a.Recorded, &stdout, &stderr); err != nil {
				return err
			}
			err := decode(doc, &a.Result, id)
			a.Result.Stdout, a.Result.Stderr = string(stdout), string(stderr)
			a.Result = bounds.Cut(a.Result)
			all = append(all, a)
			return err
		})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		_, err = s.Get(ctx, id)
	}
	return all, err
}
