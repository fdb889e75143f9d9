package sqlite

// leases came with version 13, with machines of host providers. The calendar's revision grows with each write of a
// lease. A deleted lease stays until it is purged, for those who are still to be told of it.
const leases = `
CREATE TABLE calendar (
	one      INTEGER PRIMARY KEY CHECK (one = 1),
	revision INTEGER NOT NULL
) STRICT;
INSERT INTO calendar (one, revision) VALUES (1, 1);
CREATE TABLE leases (
	id      TEXT PRIMARY KEY,
	class   TEXT NOT NULL, -- '' is none
	state   TEXT NOT NULL,
	start   INTEGER NOT NULL,
	finish  INTEGER NOT NULL, -- when it is to end
	ended   INTEGER NOT NULL, -- when it ended or was deleted; 0 before
	open    INTEGER NOT NULL, -- 1: it is in the calendar
	deleted INTEGER NOT NULL,
	doc     BLOB NOT NULL     -- JSON of all of it
) STRICT;
CREATE INDEX leases_open ON leases (open, start, id);
CREATE INDEX leases_class ON leases (class, id) WHERE class <> '';
CREATE INDEX leases_finish ON leases (finish, start);
CREATE INDEX leases_ended ON leases (ended, id) WHERE ended > 0;

CREATE TABLE host_groups (
	name     TEXT PRIMARY KEY,
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL -- JSON of all of it
) STRICT;
CREATE TABLE instances (
	id       TEXT PRIMARY KEY,
	family   TEXT NOT NULL,    -- its group
	state    TEXT NOT NULL,
	ended    INTEGER NOT NULL, -- when it was terminated; 0 before
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL     -- JSON of all of it
) STRICT;
CREATE INDEX instances_family ON instances (family, id);
CREATE INDEX instances_state ON instances (state, id);
CREATE INDEX instances_ended ON instances (ended, id) WHERE ended > 0;
`
