package storetest

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// handed is a submission of a campus with its requests.
type handed struct {
	sub     school.Submission
	specs   []core.Spec            // that were made for it
	results map[string]core.Result // by request
}

func (h *handed) at() [2]string { return [2]string{h.sub.Class, h.sub.Assignment} }

// waits reports whether one of its requests has not ended.
func (h *handed) waits() bool { return len(h.results) < len(h.specs) }

// standing is what should have become of it.
func (h *handed) standing() school.Standing {
	is := school.Standing{Submission: h.sub, Outcome: core.ResultReceived}
	if h.sub.Request != "" {
		is.State, is.Outcome = core.RequestQueued, core.ResultWaiting
		if r, ended := h.results[h.sub.Request]; ended {
			is.State, is.Blame, is.Score, is.MaxScore = r.State, r.Blame, r.Score, r.MaxScore
			is.Outcome = core.OutcomeOfState(r.State, r.Blame, core.OutcomeOf(&r), r.Score, r.MaxScore)
		}
	}
	if h.sub.Grade != nil {
		is.Score = &h.sub.Grade.Score
		is.Outcome = core.OutcomeOfScore(*is.Score, is.MaxScore)
	}
	return is
}

func (c *campus) pick(rt *rapid.T) *handed {
	if len(c.handed) == 0 {
		rt.Skip("nothing was submitted yet")
	}
	return rapid.SampledFrom(c.handed).Draw(rt, "submission")
}

func (c *campus) submit(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	at := [2]string{c.draw(rt, "class"), c.draw(rt, "hw")}
	if known := slices.Collect(maps.Keys(c.assignments)); len(known) > 0 && rapid.IntRange(0, 9).Draw(rt, "known") > 0 {
		slices.SortFunc(known, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		at = rapid.SampledFrom(known).Draw(rt, "assignment")
	}
	sub := Submission(at[0], at[1], c.draw(rt, "user"))
	sub.Idempotency = rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(rt, "key")
	h := &handed{results: map[string]core.Result{}}
	var grading *core.Spec
	if rapid.Bool().Draw(rt, "graded") {
		spec := Grading(sub)
		sub.Request, grading = spec.ID, &spec
		h.specs = append(h.specs, spec)
	}
	h.sub = sub
	for _, other := range c.handed {
		if sub.Idempotency != "" && other.sub.User == sub.User && other.sub.Idempotency == sub.Idempotency {
			got, is, err := s.CreateSubmission(ctx, sub, grading)
			require.NoError(rt, err)
			require.False(rt, is)
			require.Equal(rt, other.sub, got)
			return
		}
	}
	want := core.CodeNotFound
	if a, is := c.assignments[h.at()]; is {
		want = c.open(sub.Class)
		if a.Deleting {
			want = core.CodeConflict
		}
	}
	if _, is := c.users[sub.User]; !is {
		want = cmp.Or(want, core.CodeNotFound)
	}
	got, is, err := s.CreateSubmission(ctx, sub, grading)
	if answered(rt, want, err) {
		require.True(rt, is)
		require.Equal(rt, sub, got)
		c.handed = append(c.handed, h)
	}
	if grading != nil {
		_, err := s.Get(ctx, grading.ID)
		require.Equal(rt, is, err == nil, "both or none")
	}
}

func (c *campus) record(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	h := c.pick(rt)
	for _, spec := range h.specs {
		if _, ended := h.results[spec.ID]; ended {
			continue
		}
		r := scored(spec, "1.1", rapid.Float64Range(0, 10).Draw(rt, "score"))
		r.State = rapid.SampledFrom([]core.RequestState{core.RequestCompleted, core.RequestFailed}).Draw(rt, "state")
		is, err := s.Record(ctx, r)
		require.NoError(rt, err)
		require.True(rt, is)
		h.results[spec.ID] = r
		return
	}
}

// bind makes another request for a submission, and makes it count if it names the
// right one before.
func (c *campus) bind(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	h := c.pick(rt)
	spec := Grading(h.sub)
	_, _, err := s.Create(ctx, spec)
	require.NoError(rt, err)
	h.specs = append(h.specs, spec)
	from := h.sub.Request
	if rapid.Bool().Draw(rt, "wrong") {
		from = spec.ID
	}
	is, err := s.Bind(ctx, h.sub.ID, from, spec.ID)
	require.NoError(rt, err)
	require.Equal(rt, from == h.sub.Request, is)
	if is {
		h.sub.Request = spec.ID
	}
}

func (c *campus) grade(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	h := c.pick(rt)
	h.sub.Grade = nil
	if rapid.Bool().Draw(rt, "graded") {
		h.sub.Grade = &school.Grade{Score: rapid.Float64Range(-1, 11).Draw(rt, "score"), By: "tess", Reason: "why"}
	}
	require.NoError(rt, s.SetGrade(ctx, h.sub.ID, h.sub.Grade))
}

// clear deletes submissions of an assignment, all at once.
func (c *campus) clear(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	at := [2]string{c.draw(rt, "class"), c.draw(rt, "hw")}
	var kept, gone []*handed
	left := 0
	for _, h := range c.handed {
		switch {
		case h.at() != at:
			kept = append(kept, h)
		case h.waits():
			kept = append(kept, h)
			left++
		default:
			gone = append(gone, h)
		}
	}
	gotRemoved, gotLeft, err := s.DeleteSubmissions(ctx, at[0], at[1], 1000)
	require.NoError(rt, err)
	require.Equal(rt, len(gone), gotRemoved)
	require.Equal(rt, left, gotLeft)
	c.handed = kept
	for _, h := range gone {
		for _, spec := range h.specs {
			_, err := s.Get(ctx, spec.ID)
			require.Equal(rt, core.CodeNotFound, core.CodeOf(err))
		}
	}
}

// check compares all that the campus has with the store.
func (c *campus) check(ctx context.Context, rt *rapid.T, s school.ResultStore) {
	for _, handle := range slices.Sorted(maps.Keys(c.users)) {
		got, err := s.GetUser(ctx, handle)
		require.NoError(rt, err)
		require.Equal(rt, c.users[handle], got)
		var want []school.Enrolment
		for _, class := range slices.Sorted(maps.Keys(c.classes)) {
			if e, is := c.enrolled[[2]string{class, handle}]; is {
				want = append(want, e)
			}
		}
		in, err := s.Memberships(ctx, handle)
		require.NoError(rt, err)
		require.Equal(rt, want, in)
	}
	for _, class := range slices.Sorted(maps.Keys(c.classes)) {
		got, err := s.GetClass(ctx, class)
		require.NoError(rt, err)
		require.Equal(rt, c.classes[class], got)
		var want []school.Assignment
		for _, kind := range []string{"a", "b", "c"} {
			if a, is := c.assignments[[2]string{class, c.prefix + "-hw" + kind}]; is {
				want = append(want, a)
			}
		}
		all, err := s.ListAssignments(ctx, class, "", 10)
		require.NoError(rt, err)
		require.Equal(rt, want, all)
		c.checkHanded(ctx, rt, s, class)
	}
}

// checkHanded compares what was submitted for the assignments of a class.
func (c *campus) checkHanded(ctx context.Context, rt *rapid.T, s school.ResultStore, class string) {
	for at := range c.assignments {
		if at[0] != class {
			continue
		}
		var want []school.Standing
		newest := map[string]school.Standing{} // or the newest that a person graded
		for _, h := range c.handed {
			if h.at() == at {
				want = append(want, h.standing())
				if its := h.standing(); its.Submission.Grade != nil || newest[h.sub.User].Submission.Grade == nil {
					newest[h.sub.User] = its
				}
			}
		}
		slices.Reverse(want)
		got, err := s.ListSubmissions(ctx, school.SubmissionFilter{Class: at[0], Assignment: at[1], Limit: 1000})
		require.NoError(rt, err)
		require.Equal(rt, want, got)
		want = nil
		for _, user := range slices.Sorted(maps.Keys(newest)) {
			want = append(want, newest[user])
		}
		got, err = s.Standings(ctx, at[0], at[1], "", 1000)
		require.NoError(rt, err)
		require.Equal(rt, want, got)
	}
}
