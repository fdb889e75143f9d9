package storetest

import (
	"fmt"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelled is what one request should be.
type modelled struct {
	spec    core.Spec
	winners map[int]core.Result // by generation
	answers map[string]bool     // by claim
	history []core.Result       // in order
}

// model does random things to a few requests and compares the store with what
// they should have made of it.
func model(t *testing.T, s school.ResultStore) {
	rapid.Check(t, func(rt *rapid.T) {
		var all []*modelled
		submitter := NewID()
		pick := func(rt *rapid.T) *modelled {
			if len(all) == 0 {
				rt.Skip("nothing there yet")
			}
			return rapid.SampledFrom(all).Draw(rt, "request")
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create": func(rt *rapid.T) {
				spec := Spec(submitter)
				spec.Idempotency = rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "key")
				row, is, err := s.Create(t.Context(), spec)
				require.NoError(rt, err)
				for _, m := range all {
					if spec.Idempotency != "" && m.spec.Idempotency == spec.Idempotency {
						require.False(rt, is)
						require.Equal(rt, m.spec, row.Spec)
						return
					}
				}
				require.True(rt, is)
				m := &modelled{spec: spec, winners: map[int]core.Result{}, answers: map[string]bool{}}
				m.check(rt, t, s)
				all = append(all, m)
			},
			"record": func(rt *rapid.T) {
				m := pick(rt)
				r := Result(m.spec, fmt.Sprintf("1.%d", rapid.IntRange(1, 4).Draw(rt, "token")))
				r.Generation = rapid.IntRange(1, m.spec.Generation).Draw(rt, "generation")
				r.State = rapid.SampledFrom([]core.RequestState{core.RequestCompleted, core.RequestFailed}).Draw(rt, "state")
				got, err := s.Record(t.Context(), r)
				require.NoError(rt, err)
				require.Equal(rt, m.record(r), got)
				m.check(rt, t, s)
			},
			"rerun": func(rt *rapid.T) {
				m := pick(rt)
				spec, err := s.Rerun(t.Context(), m.spec.ID, int64(len(all)))
				if _, ended := m.winners[m.spec.Generation]; !ended {
					require.True(rt, core.Is(err, core.CodeConflict))
					return
				}
				require.NoError(rt, err)
				m.spec.Generation, m.spec.Submitted = m.spec.Generation+1, int64(len(all))
				require.Equal(rt, m.spec, spec)
				m.check(rt, t, s)
			},
		})
		for _, m := range all { // nobody changed another's
			m.check(rt, t, s)
		}
	})
}

// record does what the store should do and returns its answer.
func (m *modelled) record(r core.Result) bool {
	answer, known := m.answers[claim(r)]
	if known {
		return answer
	}
	_, ended := m.winners[r.Generation]
	if !ended {
		m.winners[r.Generation] = r
	}
	m.history = append(m.history, r)
	m.answers[claim(r)] = !ended
	return !ended
}

// claim names the claim that made a result.
func claim(r core.Result) string { return r.Key() + " " + r.Token + " " + r.VM }

// check compares one request with the store.
func (m *modelled) check(rt *rapid.T, t *testing.T, s school.ResultStore) {
	row, err := s.Get(t.Context(), m.spec.ID)
	require.NoError(rt, err)
	want := core.Row{Spec: m.spec, State: core.RequestQueued, Finished: row.Finished}
	if r, ended := m.winners[m.spec.Generation]; ended {
		want.State, want.Result = r.State, &r
	}
	require.Equal(rt, want, row)
	require.Equal(rt, want.Result != nil, row.Finished > 0)

	keys, ended := []string{}, map[string]core.RequestState{}
	for generation := 1; generation <= m.spec.Generation; generation++ {
		key := core.Key(m.spec.ID, generation)
		keys = append(keys, key)
		if r, ok := m.winners[generation]; ok {
			ended[key] = r.State
		}
	}
	got, err := s.Terminal(t.Context(), keys)
	require.NoError(rt, err)
	require.Equal(rt, ended, got)

	history, err := s.Attempts(t.Context(), m.spec.ID)
	require.NoError(rt, err)
	require.Len(rt, history, len(m.history))
	for i, r := range m.history {
		require.Equal(rt, r, history[i].Result)
		require.Equal(rt, m.answers[claim(r)], history[i].Accepted)
	}
}
