package storetest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/store/bounds"

	"github.com/stretchr/testify/require"
)

func record(t *testing.T, s school.ResultStore) {
	for _, state := range []core.RequestState{
		core.RequestCompleted, core.RequestFailed, core.RequestCancelled, core.RequestTimedOut, core.RequestDead,
	} {
		spec := mustCreate(t, s, Spec("ann"))
		r := Result(spec, "1.1")
		r.State = state
		mustRecord(t, s, r, true)
		row := mustGet(t, s, spec.ID)
		require.Equal(t, state, row.State)
		require.Equal(t, &r, row.Result)
		require.WithinDuration(t, time.Now(), time.UnixMilli(row.Finished), time.Hour)
	}
}

func recordKeepsEverything(t *testing.T, s school.ResultStore) {
	score, most := 7.25, 10.0
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	spec := mustCreate(t, s, Spec("ann"))
	r := Result(spec, "3.17")
	r.State, r.Blame, r.Reason, r.Limit = core.RequestFailed, core.BlameHarness, "ünder <limits> & more", core.LimitMemory
	r.ExitCode, r.Signal, r.Truncated = 137, "SIGKILL", true
	r.Stdout, r.Stderr = string(every), strings.Repeat("e", 1<<20) // output is bytes, not text
	r.Score, r.MaxScore = &score, &most
	r.Tests = []core.Test{{Name: "t", Score: 1, MaxScore: 2, Message: "*m*", Parts: []core.Part{{Name: "p", Score: 0.5, MaxScore: 1}}}}
	r.Image, r.Usage = "sha256:1", core.Usage{CPUMs: 1, WallMs: 2, MemoryPeakBytes: 3}
	r.HeldBy = map[string]string{core.LimitMemory: "cgroup"}
	mustRecord(t, s, r, true)
	require.Equal(t, &r, mustGet(t, s, spec.ID).Result)
}

func recordLater(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	first, late := Result(spec, "1.1"), Result(spec, "2.1")
	late.State, late.Reason = core.RequestFailed, "late"
	mustRecord(t, s, first, true)
	mustRecord(t, s, late, false)
	row := mustGet(t, s, spec.ID)
	require.Equal(t, core.RequestCompleted, row.State)
	require.Equal(t, &first, row.Result)

	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.Equal(t, first, history[0].Result)
	require.True(t, history[0].Accepted)
	require.Positive(t, history[0].Recorded)
	require.Equal(t, late, history[1].Result)
	require.False(t, history[1].Accepted)
}

func recordSameClaim(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	first, late := Result(spec, "1.1"), Result(spec, "2.1")
	other := first // of another owner, which counts its tokens by itself
	other.VM = "vm-elsewhere"
	for range 3 {
		mustRecord(t, s, first, true)
		mustRecord(t, s, late, false)
		mustRecord(t, s, other, false)
	}
	first.Reason = "told otherwise the second time"
	mustRecord(t, s, first, true)
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 3)
	require.Empty(t, history[0].Result.Reason)

	// The answer outlives a rerun.
	_, err = s.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	mustRecord(t, s, first, true)
	mustRecord(t, s, late, false)
	require.Equal(t, core.RequestQueued, mustGet(t, s, spec.ID).State)
}

func recordWithoutClaim(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	cancelled := core.Result{ID: spec.ID, Generation: 1, State: core.RequestCancelled, Reason: "cancelled by ann"}
	over := core.Result{ID: spec.ID, Generation: 1, State: core.RequestTimedOut, Reason: "waited too long"}
	for range 2 {
		mustRecord(t, s, cancelled, true)
		mustRecord(t, s, over, false)
	}
	mustRecord(t, s, Result(spec, "1.1"), false)
	require.Equal(t, core.RequestCancelled, mustGet(t, s, spec.ID).State)
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 3)
}

func recordRefuses(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	nan := math.NaN()
	for name, c := range map[string]struct {
		change func(r *core.Result)
		want   core.Code
	}{
		"unknown id":         {func(r *core.Result) { r.ID = NewID() }, core.CodeNotFound},
		"generation to come": {func(r *core.Result) { r.Generation = 2 }, core.CodeNotFound},
		"generation 0":       {func(r *core.Result) { r.Generation = 0 }, core.CodeNotFound},
		"no end":             {func(r *core.Result) { r.State = core.RequestRunning }, core.CodeInvalid},
		"no state":           {func(r *core.Result) { r.State = "" }, core.CodeInvalid},
		"no number":          {func(r *core.Result) { r.Score = &nan }, core.CodeInvalid},
		"large stdout":       {func(r *core.Result) { r.Stdout = strings.Repeat("x", core.MaxOutputBytes+1) }, core.CodeLimit},
		"large stderr":       {func(r *core.Result) { r.Stderr = strings.Repeat("x", core.MaxOutputBytes+1) }, core.CodeLimit},
		"large tests":        {func(r *core.Result) { r.Tests = []core.Test{{Message: strings.Repeat("x", bounds.MaxResultBytes)}} }, core.CodeLimit},
	} {
		r := Result(spec, "1.1")
		c.change(&r)
		_, err := s.Record(t.Context(), r)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, mustGet(t, s, spec.ID))
	largest := Result(spec, "1.1")
	largest.Stdout = strings.Repeat("\x00", core.MaxOutputBytes)
	mustRecord(t, s, largest, true)
	require.Len(t, mustGet(t, s, spec.ID).Result.Stdout, core.MaxOutputBytes)
}

func recordBoundsHistory(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	mustRecord(t, s, Result(spec, "1.1"), true)
	for i := range 2 * bounds.MaxRefused {
		mustRecord(t, s, Result(spec, fmt.Sprintf("2.%d", i)), false)
	}
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 1+bounds.MaxRefused)
	mustRecord(t, s, Result(spec, "1.1"), true)
}

func terminal(t *testing.T, s school.ResultStore) {
	done, open := mustCreate(t, s, Spec("ann")), mustCreate(t, s, Spec("ann"))
	r := Result(done, "1.1")
	r.State = core.RequestDead
	mustRecord(t, s, r, true)
	again, err := s.Rerun(t.Context(), done.ID, 5)
	require.NoError(t, err)
	keys := []string{done.Key(), again.Key(), open.Key(), core.Key(NewID(), 1)}
	for i := range 2500 { // more than any page
		keys = append(keys, core.Key(fmt.Sprintf("nobody-%d", i), 1))
	}
	got, err := s.Terminal(t.Context(), keys)
	require.NoError(t, err)
	require.Equal(t, map[string]core.RequestState{done.Key(): core.RequestDead}, got)

	mustRecord(t, s, Result(again, "2.1"), true)
	got, err = s.Terminal(t.Context(), []string{again.Key(), done.Key(), done.Key()})
	require.NoError(t, err)
	require.Equal(t, map[string]core.RequestState{done.Key(): core.RequestDead, again.Key(): core.RequestCompleted}, got)

	got, err = s.Terminal(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = s.Terminal(t.Context(), []string{"no key"})
	requireCode(t, core.CodeInvalid, err)
}

func rerun(t *testing.T, s school.ResultStore) {
	spec := full()
	mustCreate(t, s, spec)
	first := Result(spec, "1.1")
	mustRecord(t, s, first, true)
	again, err := s.Rerun(t.Context(), spec.ID, 1_800_000_000_000)
	require.NoError(t, err)
	want := spec
	want.Generation, want.Submitted = 2, 1_800_000_000_000
	require.Equal(t, want, again)
	require.Equal(t, core.Row{Spec: want, State: core.RequestQueued}, mustGet(t, s, spec.ID))
	open, err := s.Unfinished(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []core.Spec{want}, open)

	mustRecord(t, s, Result(spec, "1.2"), false) // a late one of the generation before
	second := Result(again, "1.1")               // the same claim's name in another generation is another
	second.State = core.RequestFailed
	mustRecord(t, s, second, true)
	row := mustGet(t, s, spec.ID)
	require.Equal(t, core.RequestFailed, row.State)
	require.Equal(t, &second, row.Result)
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 3)
	require.Equal(t, []bool{true, false, true}, []bool{history[0].Accepted, history[1].Accepted, history[2].Accepted})
	require.Equal(t, []int{1, 1, 2}, []int{history[0].Result.Generation, history[1].Result.Generation, history[2].Result.Generation})
}

func rerunRefuses(t *testing.T, s school.ResultStore) {
	_, err := s.Rerun(t.Context(), NewID(), 5)
	requireCode(t, core.CodeNotFound, err)
	spec := mustCreate(t, s, Spec("ann"))
	_, err = s.Rerun(t.Context(), spec.ID, 5)
	requireCode(t, core.CodeConflict, err)
	for i := range core.MaxGenerations {
		mustRecord(t, s, core.Result{ID: spec.ID, Generation: i + 1, State: core.RequestCompleted, Token: "1.1"}, true)
		if i+1 < core.MaxGenerations {
			_, err = s.Rerun(t.Context(), spec.ID, 5)
			require.NoError(t, err)
		}
	}
	_, err = s.Rerun(t.Context(), spec.ID, 5)
	requireCode(t, core.CodeLimit, err)
}

func attemptsCutOutput(t *testing.T, s school.ResultStore) {
	_, err := s.Attempts(t.Context(), NewID())
	requireCode(t, core.CodeNotFound, err)
	spec := mustCreate(t, s, Spec("ann"))
	history, err := s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Empty(t, history)

	long := Result(spec, "1.1")
	long.Stdout = strings.Repeat("x", bounds.AttemptOutput) + "cut"
	late := Result(spec, "2.1")
	late.Stderr = strings.Repeat("y", bounds.AttemptOutput) + "cut"
	short := Result(spec, "3.1")
	short.Stdout = strings.Repeat("z", bounds.AttemptOutput)
	mustRecord(t, s, long, true)
	mustRecord(t, s, late, false)
	mustRecord(t, s, short, false)
	history, err = s.Attempts(t.Context(), spec.ID)
	require.NoError(t, err)
	require.Len(t, history, 3)
	require.Equal(t, strings.TrimSuffix(long.Stdout, "cut"), history[0].Result.Stdout)
	require.Equal(t, strings.TrimSuffix(late.Stderr, "cut"), history[1].Result.Stderr)
	require.Equal(t, short, history[2].Result)
	require.True(t, history[0].Result.Truncated)
	require.True(t, history[1].Result.Truncated)
	require.Equal(t, &long, mustGet(t, s, spec.ID).Result, "the result itself stays whole")
}
