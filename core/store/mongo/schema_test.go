package mongo

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/school"
	"drover/core/service/clock"
	"drover/core/store/mongo/mongotest"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func openHere(t *testing.T, url string, opts Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	url := mongotest.Database(t)
	s := openHere(t, url, Options{})
	_, err := s.change(t.Context(), meta, m{"_id": "schema"}, m{"$set": m{"version": len(migrations) + 1}})
	require.NoError(t, err)
	_, err = Open(t.Context(), url, Options{})
	require.Equal(t, core.CodeVersion, core.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, fmt.Sprintf("up to %d", len(migrations)))
}

func TestNoDatabaseIsNoStore(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	url := mongotest.Database(t)
	_, err := Open(t.Context(), url, Options{Existing: true})
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
	_, _, err = Migrate(t.Context(), url, Options{}, func(map[core.Binding]string) error { return nil })
	require.Equal(t, core.CodeNotFound, core.CodeOf(err), "%v", err)
}

// One program migrates at a time; one that died at it holds up the others for the lease only.
func TestMigrationHasALease(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	url := mongotest.Database(t)
	hands := clock.NewManual(time.UnixMilli(5000))
	s := openHere(t, url, Options{Clock: hands})
	_, err := s.change(t.Context(), meta, m{"_id": "schema"}, m{"$set": m{"version": 0, "making": true}})
	require.NoError(t, err)
	was, _, err := one[schema](t.Context(), s, meta, m{"_id": "schema"})
	require.NoError(t, err)
	mine, err := s.lease(t.Context(), "a", was)
	require.NoError(t, err)
	require.True(t, mine)
	mine, err = s.lease(t.Context(), "b", was)
	require.NoError(t, err)
	require.False(t, mine, "as it was read it was free")
	was, _, err = one[schema](t.Context(), s, meta, m{"_id": "schema"})
	require.NoError(t, err)
	mine, err = s.lease(t.Context(), "b", was)
	require.NoError(t, err)
	require.False(t, mine)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Open(ctx, url, Options{Clock: hands})
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "%v", err)

	hands.Advance(leaseTime)
	second := openHere(t, url, Options{Clock: hands})
	now, _, err := one[schema](t.Context(), second, meta, m{"_id": "schema"})
	require.NoError(t, err)
	require.Equal(t, schema{ID: "schema", Version: len(migrations)}, now)
}

// A database of version 1, which had neither tokens nor identities, keeps its users and lets them sign in.
func TestOlderDatabaseIsBroughtUp(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	url := mongotest.Database(t)
	was := openHere(t, url, Options{})
	storetest.School(t, was)
	for _, in := range []string{tokens, identities} {
		require.NoError(t, was.in(in).Drop(ctx))
	}
	_, err := was.change(ctx, meta, m{"_id": "schema"}, m{"$set": m{"version": 1}})
	require.NoError(t, err)

	for _, existing := range []bool{false, true} {
		_, err := Open(ctx, url, Options{Existing: existing})
		require.ErrorIs(t, err, core.ErrOlderSchema)
	}
	from, to, err := Migrate(ctx, url, Options{}, func(map[core.Binding]string) error { return nil })
	require.NoError(t, err)
	require.Equal(t, []int{1, len(migrations)}, []int{from, to})
	s := openHere(t, url, Options{Existing: true})
	now, _, err := one[schema](ctx, s, meta, m{"_id": "schema"})
	require.NoError(t, err)
	require.Equal(t, schema{ID: "schema", Version: len(migrations)}, now)
	hasIndexes(t, s)
	a, err := s.GetAccount(ctx, "ann")
	require.NoError(t, err)
	require.Equal(t, school.Account{User: "ann"}, a)
	_, err = s.PutAccount(ctx, school.Account{User: "ann", Language: "de"})
	require.NoError(t, err)
	require.NoError(t, s.AddToken(ctx, storetest.Token("ann", "t")))
	in, err := s.Memberships(ctx, "ann")
	require.NoError(t, err)
	require.Len(t, in, 1)
}

// Every unique index is there and is of one field, for others would bind what leaves it out.
func TestIndexes(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	hasIndexes(t, openHere(t, mongotest.Database(t), Options{}))
}

func hasIndexes(t *testing.T, s *Store) {
	t.Helper()
	for _, index := range indexes {
		var have []bson.M
		cursor, err := s.in(index.in).Indexes().List(t.Context())
		require.NoError(t, err)
		require.NoError(t, cursor.All(t.Context(), &have))
		found := false
		for _, one := range have {
			found = found || one["name"] == index.name && (one["unique"] == true) == index.unique
		}
		require.True(t, found, "%s.%s", index.in, index.name)
		require.False(t, index.unique && len(index.keys) != 1, index.name)
	}
}

// What a long output leaves goes when it is not needed any more.
func TestPiecesOfOutputGo(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	s := openHere(t, mongotest.Database(t), Options{})
	pieces := func() int {
		n, err := s.count(ctx, outputs, m{}, 100)
		require.NoError(t, err)
		return n
	}
	spec := storetest.Spec("ann")
	_, _, err := s.Create(ctx, spec)
	require.NoError(t, err)
	r := storetest.Result(spec, "1.1")
	r.Stdout = strings.Repeat("x", inline+piece+1)
	for range 2 {
		is, err := s.Record(ctx, r)
		require.NoError(t, err)
		require.True(t, is)
		require.Equal(t, 2, pieces())
	}
	late := r
	late.Token = "2.1"
	is, err := s.Record(ctx, late)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, 2, pieces())
	row, err := s.Get(ctx, spec.ID)
	require.NoError(t, err)
	require.Equal(t, &r, row.Result)
	_, err = s.Rerun(ctx, spec.ID, 5)
	require.NoError(t, err)
	require.Zero(t, pieces())

	r.Generation, r.Token = 2, "3.1"
	_, err = s.Record(ctx, r)
	require.NoError(t, err)
	n, err := s.Purge(ctx, time.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, pieces())
}

// What was being deleted when a program died is not there, and is swept up.
func TestDeletionIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	s := openHere(t, mongotest.Database(t), Options{})
	storetest.School(t, s)
	spec := storetest.Spec("ann")
	_, _, err := s.Create(ctx, spec)
	require.NoError(t, err)
	_, err = s.Record(ctx, storetest.Result(spec, "1.1"))
	require.NoError(t, err)
	_, err = s.change(ctx, requests, m{"_id": spec.ID}, leave)
	require.NoError(t, err)
	_, err = s.Get(ctx, spec.ID)
	require.True(t, core.Is(err, core.CodeNotFound))
	_, is, err := s.Create(ctx, spec)
	require.NoError(t, err)
	require.True(t, is, "the id is free")

	_, err = s.change(ctx, classes, m{"_id": "cs101"}, m{"$set": m{"gone": true}})
	require.NoError(t, err)
	_, err = s.GetClass(ctx, "cs101")
	require.True(t, core.Is(err, core.CodeNotFound))
	_, err = s.PutClass(ctx, storetest.Class("cs101"))
	require.NoError(t, err)
	in, err := s.Memberships(ctx, "ann")
	require.NoError(t, err)
	require.Empty(t, in, "of the class before")
}

// Who announced a deletion and died holds nobody up for long, and cannot go on then.
func TestAnnouncedDeletionEnds(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	hands := clock.NewManual(time.UnixMilli(5000))
	s := openHere(t, mongotest.Database(t), Options{Clock: hands})
	storetest.School(t, s)
	until := s.now() + closingTime.Milliseconds()
	_, err := s.change(ctx, classes, m{"_id": "cs101"}, m{"$set": m{"closing": until}})
	require.NoError(t, err)
	a := storetest.Assignment("cs101", "hw2")
	_, err = s.PutAssignment(ctx, a)
	require.True(t, core.Is(err, core.CodeConflict), "%v", err)
	hands.Advance(closingTime)
	_, err = s.PutAssignment(ctx, a)
	require.NoError(t, err)
	is, err := s.change(ctx, classes, m{"_id": "cs101", "closing": until}, m{"$set": m{"gone": true}})
	require.NoError(t, err)
	require.False(t, is)
}

// Who is broken off while it records long output leaves pieces of it: a repeat makes no more of
// them, and those that do not belong to the result that is accepted go then, whatever it is.
func TestPiecesOfOutputThatWasNotRecordedGo(t *testing.T) {
	t.Parallel()
	tier.OnlyInAll(t, tier.Mongo)
	ctx := t.Context()
	s := openHere(t, mongotest.Database(t), Options{})
	pieces := func(want int) {
		t.Helper()
		n, err := s.count(ctx, outputs, m{}, 100)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	spec := storetest.Spec("ann")
	_, _, err := s.Create(ctx, spec)
	require.NoError(t, err)
	result := func(token, letter string) core.Result {
		r := storetest.Result(spec, token)
		r.Stdout, r.Stderr = strings.Repeat(letter, inline+piece+1), strings.Repeat(letter, inline+1)
		return r
	}
	brokenOff := func(r core.Result) {
		_, err := s.pack(ctx, &recording{result: &r, origin: origin(r)})
		require.NoError(t, err)
	}
	record := func(r core.Result, want bool) {
		t.Helper()
		is, err := s.Record(ctx, r)
		require.NoError(t, err)
		require.Equal(t, want, is)
	}
	mine, other := result("1.1", "x"), result("2.1", "y")
	for range 3 {
		brokenOff(mine)
		pieces(3)
	}
	brokenOff(other)
	pieces(6)
	record(mine, true)
	pieces(3)
	record(mine, true)
	brokenOff(mine) // a repeat that looked before it was recorded
	record(mine, true)
	brokenOff(other)
	record(other, false)
	pieces(3)
	row, err := s.Get(ctx, spec.ID)
	require.NoError(t, err)
	require.Equal(t, mine.Stdout, row.Result.Stdout)
	require.Equal(t, mine.Stderr, row.Result.Stderr)

	spec, err = s.Rerun(ctx, spec.ID, 5)
	require.NoError(t, err)
	pieces(0)
	brokenOff(result("3.1", "z"))
	pieces(3)
	short := storetest.Result(spec, "4.1")
	short.Stdout = "short"
	record(short, true)
	pieces(0)
}
