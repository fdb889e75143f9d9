package sqlite

// accounts came with version 6: how users authenticate. Only the hash of a token's secret is stored. Hashes of tokens
// and passwords are in columns, never in a document.
const accounts = `
CREATE TABLE accounts (
	user     TEXT PRIMARY KEY,
	password TEXT NOT NULL, -- hash; '' is none
	revision INTEGER NOT NULL,
	doc      BLOB NOT NULL  -- JSON of all but password and revision
) STRICT;
CREATE TABLE tokens (
	id      TEXT PRIMARY KEY,
	hash    TEXT NOT NULL,
	user    TEXT NOT NULL,
	kind    TEXT NOT NULL,
	created INTEGER NOT NULL,
	expires INTEGER NOT NULL,
	used    INTEGER NOT NULL,
	doc     BLOB NOT NULL -- JSON of all but hash and used
) STRICT;
CREATE UNIQUE INDEX tokens_hash ON tokens (hash);
CREATE INDEX tokens_user ON tokens (user, kind, created, id);
CREATE INDEX tokens_expires ON tokens (expires, id);
CREATE TABLE identities (
	issuer  TEXT NOT NULL,
	subject TEXT NOT NULL,
	user    TEXT NOT NULL,
	created INTEGER NOT NULL,
	PRIMARY KEY (issuer, subject)
) STRICT;
CREATE INDEX identities_user ON identities (user, issuer, subject);
`
