package storetest

import (
	"slices"
	"testing"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// leadsCount compares which submissions count, after random writes, with the pure function of all of them.
func leadsCount(t *testing.T, s school.ResultStore) { //nolint:revive // one table of random writes
	ctx := t.Context()
	rapid.Check(t, func(rt *rapid.T) {
		prefix := NewID()
		class := Class(prefix)
		_, err := s.PutClass(ctx, class)
		require.NoError(rt, err)
		as := Assignment(prefix, "hw1")
		as.AllowFinal, as.Due = true, 1_700_000_000_000
		as.Counts = rapid.SampledFrom(school.Policies()).Draw(rt, "policy")
		as.Penalty = rapid.SampledFrom([]float64{0, 10, 40}).Draw(rt, "penalty")
		as.Revision, err = s.PutAssignment(ctx, as)
		require.NoError(rt, err)
		users := []string{prefix + "-a", prefix + "-b"}
		for _, u := range users {
			_, err := s.PutUser(ctx, school.User{Handle: u})
			require.NoError(rt, err)
		}
		moved := map[string]*school.Deadline{}
		var subs []school.Submission
		specs := map[string]core.Spec{}
		some := func(rt *rapid.T) school.Submission {
			if len(subs) == 0 {
				rt.Skip("nothing was submitted")
			}
			return rapid.SampledFrom(subs).Draw(rt, "submission")
		}
		date := func(rt *rapid.T) int64 {
			return as.Created + rapid.SampledFrom([]int64{-1, 1, 30, 60, 90}).Draw(rt, "hours")*3_600_000
		}
		rt.Repeat(map[string]func(*rapid.T){
			"submit": func(rt *rapid.T) {
				sub := Submission(prefix, "hw1", rapid.SampledFrom(users).Draw(rt, "user"))
				sub.Kind, sub.At = rapid.SampledFrom([]string{"public", "final"}).Draw(rt, "kind"), date(rt)
				spec := Grading(sub)
				spec.ID, sub.Request = sub.ID, sub.ID
				_, _, err := s.CreateSubmission(ctx, sub, &spec)
				require.NoError(rt, err)
				subs, specs[sub.ID] = append(subs, sub), spec
			},
			"record": func(rt *rapid.T) {
				spec := specs[some(rt).ID]
				_, err := s.Record(ctx, scored(spec, "1.1", rapid.SampledFrom([]float64{0, 3, 5, 8, 10}).Draw(rt, "score")))
				require.NoError(rt, err)
			},
			"rerun": func(rt *rapid.T) {
				sub := some(rt)
				if spec, err := s.Rerun(ctx, specs[sub.ID].ID, 1); err == nil {
					specs[sub.ID] = spec
				}
			},
			"bind": func(rt *rapid.T) {
				sub := some(rt)
				other := Grading(sub)
				_, _, err := s.Create(ctx, other)
				require.NoError(rt, err)
				if rapid.Bool().Draw(rt, "ended") {
					_, err = s.Record(ctx, scored(other, "1.1", 4))
					require.NoError(rt, err)
				}
				is, err := s.Bind(ctx, sub.ID, specs[sub.ID].ID, other.ID)
				require.NoError(rt, err)
				require.True(rt, is)
				specs[sub.ID] = other
			},
			"grade": func(rt *rapid.T) {
				var g *school.Grade
				if rapid.Bool().Draw(rt, "graded") {
					g = &school.Grade{Score: rapid.SampledFrom([]float64{-1, 2, 9}).Draw(rt, "score"), By: "tess"}
				}
				require.NoError(rt, s.SetGrade(ctx, some(rt).ID, g))
			},
			"rules": func(rt *rapid.T) {
				as.Counts = rapid.SampledFrom(school.Policies()).Draw(rt, "policy")
				as.Penalty = rapid.SampledFrom([]float64{0, 10, 40}).Draw(rt, "penalty")
				as.Grace = rapid.SampledFrom([]int{0, 120}).Draw(rt, "grace")
				as.Due = date(rt)
				as.Revision, err = s.PutAssignment(ctx, as)
				require.NoError(rt, err)
			},
			"deadline": func(rt *rapid.T) {
				d := school.Deadline{Class: prefix, Assignment: "hw1", User: rapid.SampledFrom(users).Draw(rt, "user"), By: "tess"}
				moved[d.User] = nil
				if rapid.Bool().Draw(rt, "set") {
					d.Due = date(rt)
					moved[d.User] = &d
				}
				require.NoError(rt, s.PutDeadline(ctx, d))
			},
			"": func(rt *rapid.T) {
				all, err := s.ListSubmissions(ctx, school.SubmissionFilter{Class: prefix, Limit: 1000})
				require.NoError(rt, err)
				var want []school.Standing
				for _, user := range users {
					var mine []school.Standing
					var competing []school.Candidate
					for _, st := range all {
						if st.Submission.User == user {
							mine = append(mine, st)
							competing = append(competing, st.Candidate())
						}
					}
					its := as.For(moved[user])
					if i := its.Leading(competing); i >= 0 {
						want = append(want, mine[i])
					}
				}
				got, err := s.Standings(ctx, prefix, "hw1", "", 10)
				require.NoError(rt, err)
				require.Equal(rt, want, got)
				leads, err := s.Leads(ctx, prefix, append(slices.Clone(users), users[0], "nobody"))
				require.NoError(rt, err)
				var short []school.Lead
				for _, st := range want {
					sub := st.Submission
					short = append(short, school.Lead{
						Class: prefix, Assignment: "hw1", User: sub.User, Submission: sub.ID, Kind: sub.Kind, At: sub.At,
						State: st.State, Blame: st.Blame, Score: st.Score, MaxScore: st.MaxScore, Outcome: st.Outcome, Grade: sub.Grade,
					})
				}
				require.Equal(rt, short, leads)
			},
		})
	})
}

// leadsRefuse asks for too many users at once, and for none.
func leadsRefuse(t *testing.T, s school.ResultStore) {
	_, err := s.Leads(t.Context(), "cs101", make([]string, 1001))
	requireCode(t, core.CodeInvalid, err)
	none, err := s.Leads(t.Context(), "cs101", nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
