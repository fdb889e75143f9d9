package sqlite

// statistics came with version 8: changes of state, how far those are that copy and count, and what was
// counted.
//
// Changes are deleted from the oldest seq on, so the first and the last seq say how many there are.
const statistics = `
CREATE TABLE state_changes (
	seq    INTEGER PRIMARY KEY,
	kind   TEXT NOT NULL,
	thing  TEXT NOT NULL,
	at     INTEGER NOT NULL, -- ms, Redis' clock
	n      INTEGER NOT NULL, -- its place in that millisecond
	state  TEXT NOT NULL,
	how    TEXT NOT NULL,
	owner  TEXT NOT NULL,
	other  TEXT NOT NULL,
	why    TEXT NOT NULL,
	until  INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX state_changes_thing ON state_changes (kind, thing, at, n);
CREATE TABLE marks (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE buckets (
	id   INTEGER PRIMARY KEY,
	step INTEGER NOT NULL, -- ms
	at   INTEGER NOT NULL, -- when it begins, ms
	name TEXT NOT NULL,
	doc  BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX buckets_at ON buckets (step, at, name);
CREATE INDEX attempts_ended ON attempts (recorded) WHERE accepted = 1;
`
