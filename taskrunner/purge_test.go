package taskrunner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drover/core"
	"drover/core/blobs"
	"drover/core/school"
	"drover/core/service/clock"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
)

// memory is a store of rows and blobs in memory.
type memory struct {
	school.ResultStore
	rows    int // finished long ago
	tokens  int // expired long ago
	pools   []core.Pool
	outputs map[string]int       // pool → requests that have some
	asked   map[string]time.Time // pool → of what age
	named   []string             // digests that rows name
	blobs   map[string]int64     // digest → stored, ms
	batches []int
	before  time.Time // of what age rows were asked for
	fail    map[string]error
}

func (s *memory) Purge(_ context.Context, before time.Time, limit int) (int, error) {
	s.before = before
	n := min(limit, s.rows)
	s.rows -= n
	s.batches = append(s.batches, n)
	return n, s.fail["purge"]
}

func (s *memory) PurgeTokens(_ context.Context, _ int64, limit int) (int, error) {
	n := min(limit, s.tokens)
	s.tokens -= n
	return n, s.fail["tokens"]
}

func (s *memory) Pools(context.Context) ([]core.Pool, error) { return s.pools, s.fail["pools"] }

func (s *memory) ExpireOutputs(_ context.Context, pool string, before time.Time, limit int) (int, error) {
	if err := s.fail["outputs"]; err != nil {
		return 0, err
	}
	if s.asked == nil {
		s.asked = map[string]time.Time{}
	}
	s.asked[pool] = before
	n := min(limit, s.outputs[pool])
	s.outputs[pool] -= n
	return n, nil
}

func (s *memory) Digests(_ context.Context, fn func(string) error) error {
	for _, d := range s.named {
		if err := fn(d); err != nil {
			return err
		}
	}
	return s.fail["digests"]
}

// files is the memory's blob store.
type files struct {
	core.Blobs
	*memory
}

func (s files) Close() error { return nil }

func (s files) Ping(context.Context) error { return nil }

// Purge deletes at once, unlike a real one.
func (s files) Purge(_ context.Context, now time.Time, grace time.Duration, keep func(string) bool) (p core.Purged, err error) {
	for d, stored := range s.blobs {
		if stored >= now.Add(-grace).UnixMilli() || keep(d) {
			continue
		}
		if err := s.fail["delete"]; err != nil {
			return p, err
		}
		delete(s.blobs, d)
		p.Files, p.Bytes = p.Files+1, p.Bytes+10
	}
	return p, s.fail["files"]
}

func digest(n int) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(n)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

const day = 24 * time.Hour

func newPurge(s *memory) *Purge {
	return &Purge{
		Store: s, Blobs: files{memory: s}, Keep: 30 * day, Grace: day, Clock: clock.NewManual(time.UnixMilli(0).Add(1000 * day)), bits: 1 << 16,
	}
}

func doPurge(ctx context.Context, p *Purge, args json.RawMessage) (note string, err error) {
	end, err := p.handle(ctx, &Job{Task: core.Task{Kind: core.KindPurge, Args: args}})
	return end.Note, err
}

func TestPurgeDeletesRowsInBatches(t *testing.T) {
	t.Parallel()
	s := &memory{rows: 2500, tokens: 2500}
	note, err := doPurge(context.Background(), newPurge(s), nil)
	require.NoError(t, err)
	require.Equal(t, []int{1000, 1000, 500}, s.batches)
	require.Zero(t, s.tokens)
	require.Equal(t, "deleted 2500 rows, the outputs of 0 requests and 0 files (0 B); trashed 0 files", note)
}

// Each pool says how long its outputs are kept; one that does not keeps them.
func TestPurgeExpiresOutputsByPool(t *testing.T) {
	t.Parallel()
	s := &memory{
		pools:   []core.Pool{{Name: "short", KeepOutputs: day}, {Name: "for-ever"}, {Name: "long", KeepOutputs: 7 * day}},
		outputs: map[string]int{"short": 2500, "for-ever": 1, "long": 2000},
	}
	p := newPurge(s)
	note, err := doPurge(context.Background(), p, nil)
	require.NoError(t, err)
	require.Equal(t, "deleted 0 rows, the outputs of 4500 requests and 0 files (0 B); trashed 0 files", note)
	require.Equal(t, map[string]int{"short": 0, "for-ever": 1, "long": 0}, s.outputs)
	now := p.Clock.Now()
	require.Equal(t, map[string]time.Time{"short": now.Add(-day), "long": now.Add(-7 * day)}, s.asked)
}

func TestPurgeDeletesWhatNothingNamesAndIsOldEnough(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(0).Add(1000 * day)
	s := &memory{named: []string{digest(1)}, blobs: map[string]int64{
		digest(1): 0,                                     // named
		digest(2): 0,                                     // old, not named
		digest(3): now.Add(-day).UnixMilli(),             // exactly the grace
		digest(4): now.Add(-day - time.Hour).UnixMilli(), // a little older
		digest(5): now.UnixMilli(),                       // new: its row is about to come
	}}
	note, err := doPurge(context.Background(), newPurge(s), nil)
	require.NoError(t, err)
	require.Equal(t, "deleted 0 rows, the outputs of 0 requests and 2 files (20 B); trashed 0 files", note)
	require.Contains(t, s.blobs, digest(1))
	require.Contains(t, s.blobs, digest(3))
	require.Contains(t, s.blobs, digest(5))
	require.Len(t, s.blobs, 3)
}

// Whatever the filter's size, nothing that is named is ever deleted; and what is
// kept by mistake goes in time.
func TestPurgeNeverDeletesWhatIsNamed(t *testing.T) {
	t.Parallel()
	purgesTheRest(t, 1, 200, 512) // the smallest case that once deleted a named file
	rapid.Check(t, func(t *rapid.T) {
		purgesTheRest(t, rapid.IntRange(0, 200).Draw(t, "named"), rapid.IntRange(200, 400).Draw(t, "all"),
			rapid.SampledFrom([]int{512, 1024, 4096}).Draw(t, "bits"))
	})
}

// purgesTheRest purges until of all files only the named ones are left.
func purgesTheRest(t interface{ Fatalf(string, ...any) }, named, all, bits int) {
	s := &memory{blobs: map[string]int64{}}
	for i := range all {
		s.blobs[digest(i)] = 0
		if i < named {
			s.named = append(s.named, digest(i))
		}
	}
	p := newPurge(s)
	p.bits = bits
	for round := 0; len(s.blobs) > named; round++ {
		if _, err := doPurge(context.Background(), p, nil); err != nil {
			t.Fatalf("purge: %v", err)
		}
		for i := range named {
			if _, ok := s.blobs[digest(i)]; !ok {
				t.Fatalf("file %d is named and was deleted", i)
			}
		}
		if round > 500 {
			t.Fatalf("%d files are left forever", len(s.blobs)-named)
		}
	}
}

// A file that is put again in the moment of its deletion is not lost: the request
// that names it is durable before it could go.
func TestAFileThatIsPutWhileItIsPurged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	put := func() string {
		d, _, err := blobs.Put(ctx, strings.NewReader("content"), 100)
		require.NoError(t, err)
		return d
	}
	s := &memory{}
	d := put()
	p := newPurge(s)
	p.Clock, p.Blobs = clock.NewManual(time.Now().Add(3*day)), putting{blobs, func() { put() }}
	_, err = doPurge(ctx, p, nil)
	require.NoError(t, err)
	s.named, p.Blobs = []string{d}, blobs // its request
	for days := 3; days < 9; days++ {
		r, err := blobs.Open(ctx, d)
		require.NoError(t, err, "%d days", days)
		require.NoError(t, r.Close())
		p.Clock = clock.NewManual(time.Now().Add(time.Duration(days) * day))
		_, err = doPurge(ctx, p, nil)
		require.NoError(t, err)
	}
}

// putting puts something between each decision of a purge and what follows of it.
type putting struct {
	core.Blobs
	put func()
}

func (b putting) Purge(ctx context.Context, now time.Time, grace time.Duration, keep func(string) bool) (core.Purged, error) {
	return b.Blobs.Purge(ctx, now, grace, func(digest string) bool {
		kept := keep(digest)
		b.put()
		return kept
	})
}

func TestTheFilterKeepsItsPromise(t *testing.T) {
	t.Parallel()
	f := newFilter(1 << 20)
	for i := range 20_000 {
		f.add(digest(i))
	}
	mistakes := 0
	for i := range 40_000 {
		switch has := f.has(digest(i)); {
		case i < 20_000:
			require.True(t, has)
		case has:
			mistakes++
		}
	}
	require.Less(t, mistakes, 40, "about one in 40,000 is expected")
	require.Len(t, newFilter(0).words, 16<<20/8)
}

// A host whose clock is ahead takes nothing for older than Redis' clock does, nor one that is
// behind for older than its own. Where Redis cannot be asked nothing is deleted.
func TestPurgeDoesNotTrustItsOwnClock(t *testing.T) {
	t.Parallel()
	const now = 1000 * day // by this host's clock
	for ahead, want := range map[time.Duration]time.Duration{31 * day: now - 31*day, -31 * day: now, 0: now} {
		s := &memory{rows: 1, pools: []core.Pool{{Name: "a", KeepOutputs: day}}, outputs: map[string]int{"a": 1}, blobs: map[string]int64{
			digest(1): (want - day).Milliseconds() + 1, digest(2): (want - day).Milliseconds() - 1,
		}}
		p := newPurge(s)
		p.Skew = func(context.Context) (time.Duration, error) { return ahead, nil }
		_, err := doPurge(t.Context(), p, nil)
		require.NoError(t, err)
		require.Equal(t, time.UnixMilli(0).Add(want-30*day), s.before)
		require.Equal(t, time.UnixMilli(0).Add(want-day), s.asked["a"])
		require.Equal(t, []string{digest(1)}, slices.Collect(maps.Keys(s.blobs)))
	}
	s := &memory{rows: 1}
	p := newPurge(s)
	p.Skew = func(context.Context) (time.Duration, error) { return 0, errors.New("it is away") }
	_, err := doPurge(t.Context(), p, nil)
	require.Error(t, err)
	require.Equal(t, 1, s.rows)
}

func TestPurgeArguments(t *testing.T) {
	t.Parallel()
	for args, fine := range map[string]bool{
		``: true, `{}`: true, `{"keep_ns":1}`: true,
		`{"keep_ns":-1}`: false, `{"keep_ns":0}`: false, `{"keep_ns":"x"}`: false, `[`: false,
	} {
		s := &memory{rows: 1}
		_, err := doPurge(context.Background(), newPurge(s), json.RawMessage(args))
		require.Equal(t, fine, err == nil, args)
		if !fine {
			require.True(t, core.Is(err, core.CodeInvalid), args)
			require.Equal(t, 1, s.rows, args)
		}
	}
}

func TestAPurgeThatIsCutShortGoesOnNextTime(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, step := range []string{"purge", "tokens", "pools", "outputs", "digests", "delete", "files"} {
		s := &memory{
			rows: 1500, blobs: map[string]int64{digest(1): 0}, fail: map[string]error{step: boom},
			pools: []core.Pool{{Name: "a", KeepOutputs: day}}, outputs: map[string]int{"a": 1500},
		}
		p := newPurge(s)
		_, err := doPurge(context.Background(), p, nil)
		require.ErrorIs(t, err, boom, step)
		s.fail = nil
		_, err = doPurge(context.Background(), p, nil)
		require.NoError(t, err)
		require.Zero(t, s.rows)
		require.Zero(t, s.outputs["a"])
		require.Empty(t, s.blobs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := doPurge(ctx, newPurge(&memory{rows: 1500}), nil)
	require.ErrorIs(t, err, context.Canceled)
}

// On the real stores: what finished work named goes with it, what unfinished work
// names stays.
func TestPurgeOnRealStores(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "file://"+t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })

	put := func(text string) string {
		d, _, err := blobs.Put(ctx, strings.NewReader(text), 100)
		require.NoError(t, err)
		return d
	}
	finished, shared, waiting, stray := put("finished"), put("shared"), put("waiting"), put("stray")
	for id, digests := range map[string][]string{"r1": {finished, shared}, "r2": {shared, waiting}} {
		spec := core.Spec{ID: id, Generation: 1, Pool: "default", Priority: core.PriorityNormal, Submitter: "alice", Command: []string{"true"}}
		for i, d := range digests {
			spec.Files = append(spec.Files, core.File{Path: fmt.Sprint("f", i), Digest: d, Size: 6})
		}
		_, _, err := store.Create(ctx, spec)
		require.NoError(t, err)
	}
	first, err := store.Record(ctx, core.Result{ID: "r1", Generation: 1, State: core.RequestCompleted, Token: "1.1"})
	require.NoError(t, err)
	require.True(t, first)

	p := &Purge{Store: store, Blobs: blobs, Keep: 30 * day, Grace: day, Clock: clock.NewManual(time.Now()), bits: 1 << 20}
	note, err := doPurge(ctx, p, nil)
	require.NoError(t, err)
	require.Equal(t, "deleted 0 rows, the outputs of 0 requests and 0 files (0 B); trashed 0 files", note)

	p.Clock = clock.NewManual(time.Now().Add(31 * day))
	note, err = doPurge(ctx, p, nil)
	require.NoError(t, err)
	require.Equal(t, "deleted 1 rows, the outputs of 0 requests and 0 files (0 B); trashed 2 files", note)
	p.Clock = clock.NewManual(time.Now().Add(33 * day))
	note, err = doPurge(ctx, p, nil)
	require.NoError(t, err)
	require.Equal(t, "deleted 0 rows, the outputs of 0 requests and 2 files (13 B); trashed 0 files", note)
	for d, there := range map[string]bool{finished: false, stray: false, shared: true, waiting: true} {
		r, err := blobs.Open(ctx, d)
		require.Equal(t, there, err == nil)
		if err == nil {
			require.NoError(t, r.Close())
		}
	}
}

// What was collected goes two purges after it expired, and its result stays.
func TestPurgeOfOutputsOnRealStores(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	hands := clock.NewManual(time.Now())
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "drover.db"), sqlite.Options{Clock: hands})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	blobs, err := blobs.Open(ctx, "file://"+t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	pool := core.DefaultPool("default")
	pool.KeepOutputs = 7 * day
	require.NoError(t, store.PutPool(ctx, pool))

	input, _, err := blobs.Put(ctx, strings.NewReader("input"), 100)
	require.NoError(t, err)
	output, _, err := blobs.Put(ctx, strings.NewReader("output"), 100)
	require.NoError(t, err)
	_, _, err = store.Create(ctx, core.Spec{
		ID: "r1", Generation: 1, Pool: "default", Priority: core.PriorityNormal, Submitter: "alice", Command: []string{"true"},
		Files: []core.File{{Path: "in", Digest: input, Size: 5}},
	})
	require.NoError(t, err)
	points := 3.0
	_, err = store.Record(ctx, core.Result{
		ID: "r1", Generation: 1, State: core.RequestCompleted, Token: "1.1", Stdout: "said", Score: &points,
		Files: []core.File{{Path: "out", Digest: output, Size: 6}},
	})
	require.NoError(t, err)

	p := &Purge{Store: store, Blobs: blobs, Keep: 300 * day, Grace: day, Clock: hands, bits: 1 << 20}
	for _, step := range []struct {
		later time.Duration
		note  string
		there bool
	}{
		{6 * day, "deleted 0 rows, the outputs of 0 requests and 0 files (0 B); trashed 0 files", true},
		{2 * day, "deleted 0 rows, the outputs of 1 requests and 0 files (0 B); trashed 1 files", true},
		{2 * day, "deleted 0 rows, the outputs of 0 requests and 1 files (6 B); trashed 0 files", false},
	} {
		hands.Advance(step.later)
		note, err := doPurge(ctx, p, nil)
		require.NoError(t, err)
		require.Equal(t, step.note, note)
		r, err := blobs.Open(ctx, output)
		require.Equal(t, step.there, err == nil, "%v", err)
		if err == nil {
			require.NoError(t, r.Close())
		}
	}
	r, err := blobs.Open(ctx, input)
	require.NoError(t, err, "what a request was submitted with stays")
	require.NoError(t, r.Close())
	row, err := store.Get(ctx, "r1")
	require.NoError(t, err)
	require.Empty(t, row.Result.Stdout)
	require.Empty(t, row.Result.Files)
	require.InDelta(t, 3, *row.Result.Score, 0)
	require.Equal(t, hands.Now().Add(-2*day).UnixMilli(), row.Result.Expired)
}
