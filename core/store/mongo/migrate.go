package mongo

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"drover/core"
)

// migrations bring a database from one schema version to the next: the first makes version 1 of an empty one. Each
// may run again after it was interrupted. Released ones never change, except that new indexes are added to the common
// table, which the last migration creates.
var migrations = []func(ctx context.Context, s *Store) error{
	nothing,       // 1: only indexes
	nothing,       // 2: tokens, identities, and accounts in the users' documents
	nothing,       // 3: wishes of hosts
	nothing,       // 4: submissions whose requests are not made yet
	nothing,       // 5: changes of state, and statistics
	nothing,       // 6: changes of waiting requests
	nothing,       // 7: requests that are to be removed
	nothing,       // 8: job types and batches
	foundCalendar, // 9: leases and instances
	func(ctx context.Context, s *Store) error { return cmp.Or(s.ensure(ctx), foundLeads(ctx, s)) }, // 10: which submissions count
	func(ctx context.Context, s *Store) error { return s.ensure(ctx) },                             // 11: marks of personal deadlines
}

func nothing(context.Context, *Store) error { return nil }

// schema is the document with the database's version, and the program that is migrating it.
type schema struct {
	ID      string `bson:"_id"`
	Version int    `bson:"version"`
	Making  bool   `bson:"making,omitempty"` // it was new, and its first program has not completed it
	By      string `bson:"by,omitempty"`     // the program that may change it
	Until   int64  `bson:"until,omitempty"`  // ms since 1970; other programs may take over then
}

// leaseTime is how long a migrating program may be silent before another one takes over.
const leaseTime = time.Minute

// what migrate may do.
type migrating int

const (
	useOnly migrating = iota // a database that has this program's schema
	makeNew                  // an empty one as well
	bringUp                  // an older one
)

// migrate brings the database to this program's schema. If several programs start at once, one of them does it and
// the others wait. Returns VERSION if a newer program was there, or an older one's is not to be brought up; NOTFOUND if
// there is none and none may be made.
func (s *Store) migrate(ctx context.Context, may migrating) error {
	me := token()
	for first := true; ; first = false {
		now, known, err := one[schema](ctx, s, meta, m{"_id": "schema"})
		if err == nil && !known {
			if may != makeNew {
				return core.Errorf(core.CodeNotFound, s.name, "result store %s does not exist, or is empty", s.name)
			}
			err = s.christen(ctx)
			now.Making = true
		}
		if first {
			s.openedAt = now.Version
		}
		switch {
		case err != nil:
			return err
		case now.Version > len(migrations):
			return core.Errorf(core.CodeVersion, s.name, "result store %s has schema %d, this program knows up to %d: use the drover that wrote it, or a newer one",
				s.name, now.Version, len(migrations))
		case now.Version == len(migrations):
			return nil
		case !now.Making && may != bringUp:
			return core.Wrap(core.ErrOlderSchema, core.CodeVersion, s.name, "result store %s has schema %d, this program needs %d", s.name, now.Version, len(migrations))
		}
		mine, err := s.lease(ctx, me, now)
		if err == nil && mine {
			err = s.step(ctx, me, now.Version)
		}
		if err != nil {
			return err
		}
		if !mine {
			select {
			case <-ctx.Done():
				return s.fault(ctx.Err())
			case <-s.clock.After(100 * time.Millisecond):
			}
		}
	}
}

// christen gives the store an id unless it has one, and creates the schema's document.
func (s *Store) christen(ctx context.Context) error {
	for _, doc := range []any{identity{ID: "store", Name: token()}, schema{ID: "schema", Making: true}} {
		if _, err := s.insert(ctx, meta, doc); err != nil {
			return err
		}
	}
	return nil
}

// lease takes the right to migrate if no program has it. Was is the schema as it was read.
func (s *Store) lease(ctx context.Context, me string, was schema) (bool, error) {
	now := s.now()
	if was.By != "" && was.By != me && was.Until > now {
		return false, nil
	}
	which := m{"_id": "schema", "version": was.Version, "by": absent}
	if was.By != "" {
		which["by"], which["until"] = was.By, was.Until
	}
	return s.change(ctx, meta, which, m{"$set": m{"by": me, "until": now + leaseTime.Milliseconds()}})
}

// step runs one migration and gives up the lease.
func (s *Store) step(ctx context.Context, me string, version int) error {
	if err := migrations[version](ctx, s); err != nil {
		return err // another program, or this one's next start, continues
	}
	over := m{"by": "", "until": ""}
	if version+1 == len(migrations) {
		over["making"] = ""
	}
	_, err := s.change(ctx, meta, m{"_id": "schema", "version": version, "by": me}, m{"$set": m{"version": version + 1}, "$unset": over})
	return err
}

// token returns a unique name.
func token() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}
