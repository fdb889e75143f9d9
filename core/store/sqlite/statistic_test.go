package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"drover/core"
	"drover/core/store/storetest"

	"github.com/stretchr/testify/require"
)

// What pages read of millions of rows is found by an index, and in its order.
func TestHistoryIsReadByIndex(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "drover.db"), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	for _, test := range []struct {
		query string
		args  []any
		want  []string
	}{
		{stateChanges, []any{"vm", "a", 5, 5, 10}, []string{"SEARCH state_changes USING INDEX state_changes_thing (kind=? AND thing=? AND (at,n)<(?,?))"}},
		{
			endedBetween,
			[]any{5, 6},
			[]string{"SEARCH a USING INDEX attempts_ended (recorded>? AND recorded<?)", "SEARCH r USING INDEX sqlite_autoindex_requests_1 (id=?)"},
		},
		{bucketsBetween, []any{5, "a", 5, 6, 10}, []string{"SEARCH buckets USING INDEX buckets_at (step=? AND at>? AND at<?)"}},
	} {
		rows, err := s.read.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+test.query, test.args...)
		require.NoError(t, err)
		var plan []string
		for rows.Next() {
			var id, parent, unused int
			var detail string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
			plan = append(plan, detail)
		}
		require.NoError(t, rows.Err())
		require.NoError(t, rows.Close())
		require.Equal(t, test.want, plan, test.query)
	}
}

// The log of states that is read of, and how many things it is about.
const (
	benchChanges = 1_000_000
	benchThings  = 100_000
)

// BenchmarkStateChanges reads and trims a log of a million changes.
func BenchmarkStateChanges(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "drover.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	all := make([]core.StateChange, core.MaxStateChanges)
	for at := range benchChanges / len(all) {
		for i := range all {
			all[i] = storetest.StateChange(fmt.Sprintf("r%d-1", (at*len(all)+i)%benchThings), int64(at), int64(i))
		}
		if err := s.AddStateChanges(b.Context(), all); err != nil {
			b.Fatal(err)
		}
	}
	for name, do := range map[string]func(ctx context.Context) error{
		"of_one": func(ctx context.Context) error {
			_, err := s.StateChanges(ctx, core.StateChangeFilter{Kind: core.EntityRequest, Thing: "r77-1", Limit: 1000})
			return err
		},
		"trim": func(ctx context.Context) error {
			_, err := s.TrimStateChanges(ctx, 0, core.MostStateChanges, 1000)
			return err
		},
		"repeat": func(ctx context.Context) error { return s.AddStateChanges(ctx, all) },
	} {
		b.Run(strings.ToLower(name), func(b *testing.B) {
			for b.Loop() {
				if err := do(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
