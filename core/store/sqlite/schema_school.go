package sqlite

// campus came with version 4: classes and their members, submissions, and the audit log. The documents are JSON;
// fields that are searched are columns as well.
//
// A request of a submission is kept: no purge by age removes it. The states of requests made for a submission can be
// read from one index alone.
const campus = `
CREATE TABLE users (
	handle   TEXT PRIMARY KEY,
	email    TEXT NOT NULL, -- '' is none
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX users_email ON users (email) WHERE email <> '';
CREATE TABLE classes (
	handle   TEXT PRIMARY KEY,
	deleting INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL
) STRICT;
CREATE TABLE enrolments (
	class TEXT NOT NULL,
	user  TEXT NOT NULL,
	role  TEXT NOT NULL,
	since INTEGER NOT NULL,
	PRIMARY KEY (class, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX enrolments_user ON enrolments (user, class);
CREATE TABLE assignments (
	class    TEXT NOT NULL,
	handle   TEXT NOT NULL,
	deleting INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL,
	PRIMARY KEY (class, handle)
) STRICT;
CREATE TABLE deadlines (
	class      TEXT NOT NULL,
	assignment TEXT NOT NULL,
	user       TEXT NOT NULL,
	doc        BLOB NOT NULL,
	PRIMARY KEY (class, assignment, user)
) STRICT;
CREATE INDEX deadlines_user ON deadlines (user);
CREATE TABLE submissions (
	id          TEXT PRIMARY KEY,
	class       TEXT NOT NULL,
	assignment  TEXT NOT NULL,
	user        TEXT NOT NULL,
	idempotency TEXT NOT NULL, -- '' is none
	request     TEXT NOT NULL, -- '' is none
	grade       BLOB,
	doc         BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX submissions_idempotency ON submissions (user, idempotency) WHERE idempotency <> '';
CREATE INDEX submissions_standing ON submissions (class, assignment, user, id);
CREATE INDEX submissions_assignment ON submissions (class, assignment, id);
CREATE INDEX submissions_class ON submissions (class, id);
CREATE INDEX submissions_user ON submissions (user, id);
CREATE TABLE experiments (
	id         TEXT PRIMARY KEY,
	class      TEXT NOT NULL,
	assignment TEXT NOT NULL,
	revision   INTEGER NOT NULL,
	doc        BLOB NOT NULL
) STRICT;
CREATE INDEX experiments_assignment ON experiments (class, assignment, id);
CREATE TABLE audit_log (
	id      TEXT PRIMARY KEY,
	class   TEXT NOT NULL, -- '' is none
	actor   TEXT NOT NULL,
	subject TEXT NOT NULL,
	doc     BLOB NOT NULL
) STRICT;
CREATE INDEX audit_log_class ON audit_log (class, id);
CREATE INDEX audit_log_actor ON audit_log (actor, id);
CREATE INDEX audit_log_subject ON audit_log (subject, id);

ALTER TABLE requests ADD COLUMN submission TEXT NOT NULL DEFAULT ''; -- that it grades; '' is none
ALTER TABLE requests ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;     -- 1: its submission names it, or did
ALTER TABLE requests ADD COLUMN blame TEXT NOT NULL DEFAULT '';      -- and scores: of the current generation's result
ALTER TABLE requests ADD COLUMN score REAL;
ALTER TABLE requests ADD COLUMN max_score REAL;
CREATE INDEX requests_submission ON requests (submission, id, state, blame, score, max_score) WHERE submission <> '';
CREATE INDEX requests_awaited ON requests (submission) WHERE submission <> '' AND state = 'queued';
DROP INDEX requests_finished;
CREATE INDEX requests_finished ON requests (finished, id) WHERE finished > 0 AND kept = 0;
`
