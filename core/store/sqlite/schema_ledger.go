package sqlite

// ledger came with version 5: tasks as documents with columns for their searches, the outbox of ends, webhooks,
// schedules, and results whose outputs were deleted.
//
// An entry of the outbox is named by event, id and generation, so that it survives a rerun or a retry.
const ledger = `
CREATE TABLE task_docs (
	id         TEXT PRIMARY KEY,
	generation INTEGER NOT NULL, -- the current one
	kind       TEXT NOT NULL,
	unique_key TEXT NOT NULL,    -- '' is none, as in all that follow
	requester  TEXT NOT NULL,
	class      TEXT NOT NULL,    -- that it is about
	parent     TEXT NOT NULL,
	lane       TEXT NOT NULL,
	state      TEXT NOT NULL,    -- of the current generation: queued or an end
	ended      INTEGER NOT NULL,
	expires    INTEGER NOT NULL, -- when its download does; 0 is none
	doc        BLOB NOT NULL     -- JSON of all of it
) STRICT;
INSERT INTO task_docs
	SELECT id, 1, kind, unique_key, '', '', '', '', state, ended, 0, CAST(CASE length(args) WHEN 0 THEN plain ELSE
		json_insert(plain, '$.args', json(CAST(args AS TEXT))) END AS BLOB)
	FROM (SELECT *, json_object('id', id, 'gen', 1, 'kind', kind, 'unique', unique_key, 'class', '', 'created_ms', created,
		'state', state, 'ended_ms', ended, 'note', note) AS plain FROM tasks);
DROP TABLE tasks;
ALTER TABLE task_docs RENAME TO tasks;
CREATE UNIQUE INDEX tasks_unique ON tasks (unique_key) WHERE unique_key <> '' AND state = 'queued';
CREATE INDEX tasks_state ON tasks (state, id);
CREATE INDEX tasks_kind ON tasks (kind, id);
CREATE INDEX tasks_requester ON tasks (requester, id) WHERE requester <> '';
CREATE INDEX tasks_class ON tasks (class, id) WHERE class <> '';
CREATE INDEX tasks_parent ON tasks (parent, id, state) WHERE parent <> '';
CREATE INDEX tasks_lane ON tasks (lane, id) WHERE lane <> '';
CREATE INDEX tasks_ended ON tasks (ended, id) WHERE ended > 0;
CREATE INDEX tasks_expires ON tasks (expires) WHERE expires > 0;

CREATE TABLE outbox (
	seq        INTEGER PRIMARY KEY AUTOINCREMENT,
	event      TEXT NOT NULL,
	id         TEXT NOT NULL, -- of the request or task
	generation INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_end ON outbox (event, id, generation);

CREATE TABLE webhooks (
	id       TEXT PRIMARY KEY,
	class    TEXT NOT NULL,
	secret   TEXT NOT NULL,
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL -- JSON of all but secret and revision
) STRICT;
CREATE INDEX webhooks_class ON webhooks (class, id);

CREATE TABLE schedules (
	name     TEXT PRIMARY KEY,
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL -- JSON of all but the revision
) STRICT;

ALTER TABLE requests ADD COLUMN notify INTEGER NOT NULL DEFAULT 0;  -- 1: its ends go to the outbox
ALTER TABLE requests ADD COLUMN expired INTEGER NOT NULL DEFAULT 0; -- 1: none of its results has outputs
CREATE INDEX requests_outputs ON requests (pool, finished, id) WHERE finished > 0 AND expired = 0;
`
