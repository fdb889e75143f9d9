package drill

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/store"
)

// ledger is a result store with a few accepted requests, and a Redis that knows none.
func ledger(t *testing.T, ids ...string) (*cluster, *load) {
	t.Helper()
	store, err := store.Open(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "drover.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	h := &cluster{rooms: newRooms(), client: &Client{Redis: coretest.Mini(t).Open(t), Store: store}}
	h.leases = newLeasing(Config{}, h)
	l := newLoad(Config{}, h)
	for _, id := range ids {
		_, _, err := store.Create(context.Background(), coretest.Spec(id, "exam", "ann"))
		require.NoError(t, err)
		l.ids = append(l.ids, id)
	}
	return h, l
}

func (r *Report) of(t *testing.T, h *cluster, l *load) *Report {
	t.Helper()
	require.NoError(t, r.count(context.Background(), h, l, newEvidence()))
	return r
}

func end(t *testing.T, h *cluster, id, vm, token, output string, state core.RequestState) {
	t.Helper()
	_, err := h.client.Store.Record(context.Background(), core.Result{
		ID: id, Generation: 1, State: state, VM: vm, Token: token, Stdout: output, Attempt: 1,
	})
	require.NoError(t, err)
}

// theBatch is a batch of two jobs, and what they are to print.
func theBatch() (b core.Batch, tags []string) {
	b = core.Batch{ID: "01jzzzzzzzzzzzzzzzzzzz0000", Submitter: "batches", Digest: "d", State: core.BatchMaking}
	for job := range 2 {
		b.Last, _ = intake.JobID(b.ID, job) // it is the id of a batch
		spec := coretest.Spec(b.Last, "exam", "batches")
		spec.Batch, spec.Command = b.ID, []string{"sh", "-c", script, "job", fmt.Sprint("tag-", job), "0"}
		b.Specs, tags = append(b.Specs, spec), append(tags, fmt.Sprint("tag-", job))
	}
	b.Jobs = len(b.Specs)
	return b, tags
}

// endBatch has it in the store, cancelled if somebody does that, with jobs that have ended so, from the first on.
func endBatch(t *testing.T, h *cluster, by string, ends ...core.RequestState) {
	t.Helper()
	ctx := context.Background()
	b, tags := theBatch()
	_, _, err := h.client.Store.CreateBatch(ctx, b)
	require.NoError(t, err)
	for _, spec := range b.Specs {
		_, _, err := h.client.Store.Create(ctx, spec)
		require.NoError(t, err)
	}
	moves := []core.BatchState{core.BatchMaking, core.BatchMade}
	if by != "" {
		moves = append(moves, core.BatchCancelling, core.BatchCancelled)
	}
	for i := range len(moves) - 1 {
		moved, err := h.client.Store.MoveBatch(ctx, b.ID, moves[i], moves[i+1], by)
		require.NoError(t, err)
		require.True(t, moved)
	}
	for i, state := range ends {
		end(t, h, b.Specs[i].ID, fmt.Sprint("v", i), fmt.Sprint("1.", i), tags[i]+"\n"+tags[i]+"\n", state)
	}
}

// createOnce adds an accepted request that must not run twice.
func createOnce(t *testing.T, h *cluster, l *load) {
	t.Helper()
	spec := coretest.Spec("once", "exam", "ann")
	spec.OnHostLoss = core.OnHostLossFail
	_, _, err := h.client.Store.Create(context.Background(), spec)
	require.NoError(t, err)
	l.ids = append(l.ids, spec.ID)
}

func TestCount(t *testing.T) {
	t.Parallel()
	const good = "a\na\n"
	for name, test := range map[string]struct {
		ids  []string
		ends func(t *testing.T, h *cluster, l *load)
		want Report
	}{
		"sound": {[]string{"a"}, func(t *testing.T, h *cluster, _ *load) {
			end(t, h, "a", "v1", "1.1", good, core.RequestCompleted)
		}, Report{Jobs: 1, Attempts: 1}},
		"no end": {[]string{"a", "b"}, func(t *testing.T, h *cluster, _ *load) {
			end(t, h, "a", "v1", "1.1", good, core.RequestCompleted)
		}, Report{Jobs: 2, Attempts: 1, Lost: 1}},
		"not in the store": {nil, func(_ *testing.T, _ *cluster, l *load) {
			l.ids = append(l.ids, "a")
		}, Report{Jobs: 1, Lost: 1}},
		"a task without an end": {nil, func(t *testing.T, h *cluster, _ *load) {
			_, err := h.client.Store.CreateTask(context.Background(), core.Task{ID: "t", Generation: 1, Kind: core.KindPurge})
			require.NoError(t, err)
		}, Report{Lost: 1}},
		"a zombie": {[]string{"a"}, func(t *testing.T, h *cluster, _ *load) {
			end(t, h, "a", "v1", "1.1", good, core.RequestCompleted)
			end(t, h, "a", "v2", "2.1", good, core.RequestCompleted)
		}, Report{Jobs: 1, Attempts: 2, Zombies: 1}},
		"a VM used twice": {[]string{"a", "b"}, func(t *testing.T, h *cluster, _ *load) {
			end(t, h, "a", "v1", "1.1", good, core.RequestCompleted)
			end(t, h, "b", "v1", "1.2", "b\nb\n", core.RequestCompleted)
		}, Report{Jobs: 2, Attempts: 2, Doubled: 1}},
		"another's output": {[]string{"a"}, func(t *testing.T, h *cluster, _ *load) {
			end(t, h, "a", "v1", "1.1", "a\nb\n", core.RequestCompleted)
		}, Report{Jobs: 1, Attempts: 1, Doubled: 1}},
		"failed": {[]string{"a"}, func(t *testing.T, h *cluster, _ *load) {
			end(t, h, "a", "v1", "1.1", good, core.RequestFailed)
		}, Report{Jobs: 1, Attempts: 1, Doubled: 1}},
		"dead": {[]string{"a"}, func(t *testing.T, h *cluster, _ *load) {
			end(t, h, "a", "", "", "", core.RequestDead)
		}, Report{Jobs: 1, Attempts: 1, Dead: 1, Innocent: 1}},
		"not run twice": {nil, func(t *testing.T, h *cluster, l *load) {
			createOnce(t, h, l)
			end(t, h, "once", "", "1.1", "", core.RequestFailed)
		}, Report{Jobs: 1, Attempts: 1, RunLost: 1}},
		"run twice": {nil, func(t *testing.T, h *cluster, l *load) {
			createOnce(t, h, l)
			end(t, h, "once", "v1", "1.1", "once\nonce\n", core.RequestCompleted)
			end(t, h, "once", "v2", "2.1", "once\nonce\n", core.RequestCompleted)
		}, Report{Jobs: 1, Attempts: 2, Zombies: 1, Doubled: 1}},
		"refused, and run": {nil, func(t *testing.T, h *cluster, l *load) {
			_, _, err := h.client.Store.Create(context.Background(), coretest.Spec("f", "exam", "ann"))
			require.NoError(t, err)
			end(t, h, "f", "v1", "1.1", "f\nf\n", core.RequestCompleted)
			l.full = append(l.full, "f")
		}, Report{Broken: 1}},
		"a batch": {nil, func(t *testing.T, h *cluster, _ *load) {
			endBatch(t, h, "", core.RequestCompleted, core.RequestCompleted)
		}, Report{Attempts: 2, Batches: batchCounts{Accepted: 1, Jobs: 2}}},
		"a batch that was cancelled": {nil, func(t *testing.T, h *cluster, _ *load) {
			endBatch(t, h, "ann", core.RequestCompleted, core.RequestCancelled)
		}, Report{Attempts: 2, Batches: batchCounts{Accepted: 1, Jobs: 2, Cancelled: 1}}},
		"a job that nobody cancelled": {nil, func(t *testing.T, h *cluster, _ *load) {
			endBatch(t, h, "", core.RequestCompleted, core.RequestCancelled)
		}, Report{Attempts: 2, Doubled: 1, Batches: batchCounts{Accepted: 1, Jobs: 2}}},
		"a job without an end": {nil, func(t *testing.T, h *cluster, _ *load) {
			endBatch(t, h, "", core.RequestCompleted)
		}, Report{Attempts: 1, Lost: 1, Doubled: 1, Batches: batchCounts{Accepted: 1, Jobs: 2}}},
		"a batch whose requests are not all made": {nil, func(t *testing.T, h *cluster, _ *load) {
			b, _ := theBatch()
			_, _, err := h.client.Store.CreateBatch(context.Background(), b)
			require.NoError(t, err)
		}, Report{Lost: 3, Doubled: 1, Batches: batchCounts{Accepted: 1, Jobs: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, l := ledger(t, test.ids...)
			test.ends(t, h, l)
			var got Report
			got.of(t, h, l)
			wrong := test.want.Lost + test.want.Doubled + test.want.Innocent + test.want.Broken + test.want.Oversold
			require.Len(t, got.Details, wrong, "each is told: %v", got.Details)
			require.Equal(t, wrong == 0, got.Sound())
			got.Details, got.given, got.MostVMs = nil, nil, nil
			require.Equal(t, &test.want, &got)
		})
	}
}
