package sqlite

// applicationID marks a file as drover's, in SQLite's own header field ("drov").
const applicationID = 0x64726f76

// migrations bring a file from one schema version to the next: the first makes version 1 of an empty file. Released
// ones never change.
var migrations = []string{tables + indexes, images, identity + taskPages, campus, ledger, accounts, wishes, statistics, requestChanges, removals, batches, poolUses, leases, joins, leads, rosterImports, comments, outcomes, lti, leadStates, poolStates, begunRequests, bindings}

// tables of the ledger. Times are ms since 1970, 0 for events that have not happened.
const tables = `
CREATE TABLE requests (
	id          TEXT PRIMARY KEY,
	generation  INTEGER NOT NULL, -- the current one
	submitter   TEXT NOT NULL,
	pool        TEXT NOT NULL,
	assignment  TEXT NOT NULL,
	idempotency TEXT NOT NULL,    -- '' is none
	state       TEXT NOT NULL,    -- of the current generation: queued or an end
	finished    INTEGER NOT NULL,
	spec        BLOB NOT NULL     -- JSON of the current generation
) STRICT;
CREATE TABLE attempts (
	seq        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL,
	generation INTEGER NOT NULL,
	origin     TEXT NOT NULL,    -- what recorded it
	accepted   INTEGER NOT NULL, -- 1: its generation's terminal result
	recorded   INTEGER NOT NULL,
	state      TEXT NOT NULL,
	result     BLOB NOT NULL,    -- JSON without the output
	stdout     BLOB NOT NULL,
	stderr     BLOB NOT NULL
) STRICT;
CREATE TABLE pools (
	name     TEXT PRIMARY KEY,
	settings BLOB NOT NULL -- JSON
) STRICT;
CREATE TABLE tasks (
	id         TEXT PRIMARY KEY,
	kind       TEXT NOT NULL,
	args       BLOB NOT NULL,
	unique_key TEXT NOT NULL, -- '' is none
	created    INTEGER NOT NULL,
	state      TEXT NOT NULL,
	ended      INTEGER NOT NULL,
	note       TEXT NOT NULL
) STRICT;
CREATE TABLE pings (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	at  INTEGER NOT NULL
) STRICT;
`

// indexes of version 1. The unique ones enforce rules of school.ResultStore; the others make the cost of a page
// independent of the table's size.
const indexes = `
CREATE UNIQUE INDEX requests_idempotency ON requests (submitter, idempotency) WHERE idempotency <> '';
CREATE INDEX requests_state ON requests (state, id);
CREATE INDEX requests_submitter ON requests (submitter, id);
CREATE INDEX requests_pool ON requests (pool, id);
CREATE INDEX requests_assignment ON requests (assignment, id) WHERE assignment <> '';
CREATE INDEX requests_finished ON requests (finished, id) WHERE finished > 0;
CREATE UNIQUE INDEX attempts_origin ON attempts (id, generation, origin);
CREATE UNIQUE INDEX attempts_accepted ON attempts (id, generation) WHERE accepted = 1;
CREATE UNIQUE INDEX tasks_unique ON tasks (unique_key) WHERE unique_key <> '' AND state = 'queued';
CREATE INDEX tasks_created ON tasks (created, id);
CREATE INDEX tasks_queued ON tasks (created, id) WHERE state = 'queued';
CREATE INDEX tasks_ended ON tasks (ended) WHERE ended > 0;
`

// images came with version 2. The one with the greatest seq is the newest of its name.
const images = `
CREATE TABLE images (
	seq    INTEGER PRIMARY KEY AUTOINCREMENT,
	name   TEXT NOT NULL,
	digest TEXT NOT NULL,
	image  BLOB NOT NULL -- JSON
) STRICT;
CREATE UNIQUE INDEX images_digest ON images (name, digest);
CREATE INDEX images_newest ON images (name, seq DESC);
`

// identity came with version 3.
const identity = `
CREATE TABLE store (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	id  TEXT NOT NULL
) STRICT;
INSERT INTO store (one, id) VALUES (1, lower(hex(randomblob(16))));
`

// wishes came with version 7.
const wishes = `
CREATE TABLE host_wishes (
	host TEXT NOT NULL,
	kind TEXT NOT NULL,
	at   INTEGER NOT NULL, -- since when it stands as it does, ms
	doc  BLOB NOT NULL,    -- JSON of all of it
	PRIMARY KEY (host, kind)
) STRICT, WITHOUT ROWID;
`

// batches came with version 11, with job types.
const batches = `
CREATE TABLE job_types (
	name     TEXT PRIMARY KEY,
	settings BLOB NOT NULL -- JSON
) STRICT;
CREATE TABLE batches (
	id          TEXT PRIMARY KEY,
	last        TEXT NOT NULL, -- id of its last request
	submitter   TEXT NOT NULL,
	idempotency TEXT NOT NULL, -- '' is none
	created     INTEGER NOT NULL,
	state       TEXT NOT NULL,
	caller      TEXT NOT NULL, -- who cancelled it
	doc         BLOB NOT NULL, -- JSON without state, caller and specs
	specs       BLOB           -- JSON of the requests that may not be there yet; NULL once they are
) STRICT;
CREATE UNIQUE INDEX batches_idempotency ON batches (submitter, idempotency) WHERE idempotency <> '';
CREATE INDEX batches_submitter ON batches (submitter, id);
CREATE INDEX batches_open ON batches (id) WHERE state IN ('making', 'cancelling');
CREATE INDEX batches_created ON batches (created, id);
`

// taskPages came with version 3: unfinished tasks are read in order of id.
const taskPages = `
DROP INDEX tasks_queued;
CREATE INDEX tasks_queued ON tasks (id) WHERE state = 'queued';
`

// requestChanges came with version 9: what is kept of the changes of a request's current generation.
const requestChanges = `
ALTER TABLE requests ADD COLUMN changes BLOB NOT NULL DEFAULT x''; -- JSON; empty if it never changed
`

// begunRequests came with version 22: which claim began the current generation of a request that must not run twice.
const begunRequests = `
ALTER TABLE requests ADD COLUMN begun TEXT NOT NULL DEFAULT '';
`

// removals came with version 10: requests that are removed once they have ended.
const removals = `
ALTER TABLE requests ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX requests_removed ON requests (id) WHERE removed = 1;
`

// poolUses came with version 12: assignments and job types are found by their pool.
const poolUses = `
CREATE INDEX job_types_pool ON job_types (CAST(settings AS TEXT) ->> '$.pool');
CREATE INDEX assignments_pool ON assignments (CAST(doc AS TEXT) ->> '$.pool');
`

// joins came with version 13.
const joins = `
CREATE TABLE join_tokens (
	id       TEXT PRIMARY KEY,
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL -- JSON
) STRICT;
`

// rosterImports came with version 16.
const rosterImports = `
CREATE TABLE roster_imports (
	class    TEXT PRIMARY KEY,
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL -- JSON
) STRICT;
`

// comments came with version 17.
const comments = `
CREATE TABLE comments (
	id         TEXT PRIMARY KEY,
	submission TEXT NOT NULL,
	class      TEXT NOT NULL,
	assignment TEXT NOT NULL,
	user       TEXT NOT NULL,    -- whose submission it is
	released   INTEGER NOT NULL, -- since when the user sees it; 0 is a draft
	open       INTEGER NOT NULL, -- 1: a question without an answer
	unread     INTEGER NOT NULL, -- 1: the user has not seen it
	doc        BLOB NOT NULL     -- JSON; the columns take precedence
) STRICT;
CREATE INDEX comments_submission ON comments (submission, id);
CREATE INDEX comments_assignment ON comments (class, assignment, id);
CREATE INDEX comments_open ON comments (class, assignment, id) WHERE open = 1;
CREATE INDEX comments_drafts ON comments (class, assignment, submission, id) WHERE released = 0;
CREATE INDEX comments_unread ON comments (user, id) WHERE unread = 1;
`

// lti came with version 19: what connects classes with learning platforms. A doc may hold a private key.
const lti = `
CREATE TABLE lti (
	kind     TEXT NOT NULL,
	id       TEXT NOT NULL,
	class    TEXT NOT NULL, -- '' is none
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL, -- JSON
	PRIMARY KEY (kind, id)
) STRICT;
CREATE INDEX lti_class ON lti (class, kind, id) WHERE class <> '';
`

// bindings came with version 23: what the store belongs to.
const bindings = `
CREATE TABLE bindings (
	kind TEXT PRIMARY KEY,
	id   TEXT NOT NULL
) STRICT;
`
