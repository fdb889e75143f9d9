package sqlite

// outcomes is a migration: how results stand, in one word, so that lists read no results. Those recorded before are
// judged by state and score.
const outcomes = `
ALTER TABLE requests ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
DROP INDEX requests_submission;
CREATE INDEX requests_submission ON requests (submission, id, state, blame, outcome, score, max_score) WHERE submission <> '';
`
