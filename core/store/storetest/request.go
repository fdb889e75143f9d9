package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/school"

	"github.com/stretchr/testify/require"
)

func create(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, mustGet(t, s, spec.ID))
	_, err := s.Get(t.Context(), NewID())
	requireCode(t, core.CodeNotFound, err)
}

// full is a spec with every field set.
func full() core.Spec {
	file := func(path string, c string) core.File {
		return core.File{Path: path, Digest: "sha256:" + strings.Repeat(c, 64), Size: 7, Mode: 0o755}
	}
	stdin, harness, attachment := file("in", "a"), file("h.tar", "b"), file("made.json", "e")
	spec := Spec("ann")
	spec.Priority, spec.Command = core.PriorityHigh, []string{"sh", "-c", "echo <&> 'ü\u2028'"}
	spec.Env, spec.Stdin, spec.Harness, spec.Attachment = []string{"A=b"}, &stdin, &harness, &attachment
	spec.Files = []core.File{file("x/a.c", "c"), file("b c.c", "d")}
	spec.Input, spec.Assignment = json.RawMessage(`{"actions":[1,2.5,null]}`), "hw1"
	spec.Supersede, spec.Idempotency = true, "once"
	spec.Limits = core.Limits{Timeout: time.Second, Memory: 1, Disk: 2, FileSize: 3, Pids: 4, OpenFiles: 5, Output: 6}
	return spec
}

func createKeepsEverything(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, full())
	require.Equal(t, spec, mustGet(t, s, spec.ID).Spec)
	all, err := s.Unfinished(t.Context(), "", 1)
	require.NoError(t, err)
	require.Equal(t, []core.Spec{spec}, all)
}

func createAgain(t *testing.T, s school.ResultStore) {
	spec := mustCreate(t, s, Spec("ann"))
	row, is, err := s.Create(t.Context(), spec)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, core.Row{Spec: spec, State: core.RequestQueued}, row)

	other := spec
	other.Command = []string{"false"}
	_, _, err = s.Create(t.Context(), other)
	requireCode(t, core.CodeConflict, err)
	require.Equal(t, spec, mustGet(t, s, spec.ID).Spec)

	// A repeat that comes late finds what became of the request.
	mustRecord(t, s, Result(spec, "1.1"), true)
	again, err := s.Rerun(t.Context(), spec.ID, 5)
	require.NoError(t, err)
	row, is, err = s.Create(t.Context(), spec)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, again, row.Spec)
}

func createIdempotent(t *testing.T, s school.ResultStore) {
	first, second, stranger := Spec("ann"), Spec("ann"), Spec("bob")
	for _, spec := range []*core.Spec{&first, &second, &stranger} {
		spec.Idempotency = "key"
	}
	second.Command = []string{"false"}
	mustCreate(t, s, first)
	row, is, err := s.Create(t.Context(), second)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, first, row.Spec)
	_, err = s.Get(t.Context(), second.ID)
	requireCode(t, core.CodeNotFound, err)
	mustCreate(t, s, stranger) // a key is its submitter's

	// Its answer carries the result, once there is one.
	result := Result(first, "1.1")
	mustRecord(t, s, result, true)
	row, is, err = s.Create(t.Context(), second)
	require.NoError(t, err)
	require.False(t, is)
	require.Equal(t, &result, row.Result)

	// No key is no key.
	mustCreate(t, s, Spec("ann"))
	mustCreate(t, s, Spec("ann"))

	// Who asks what a key stands for need not submit anything.
	for submitter, want := range map[string][]string{"ann": {first.ID}, "bob": {stranger.ID}, "cat": {}} {
		rows, err := s.List(t.Context(), core.Filter{Submitter: submitter, Idempotency: "key"})
		require.NoError(t, err)
		require.Equal(t, want, ids(rows))
	}
	_, err = s.List(t.Context(), core.Filter{Idempotency: "key"})
	requireCode(t, core.CodeInvalid, err)
}

func createRefuses(t *testing.T, s school.ResultStore) {
	for name, c := range map[string]struct {
		change func(spec *core.Spec)
		want   core.Code
	}{
		"no id":       {func(spec *core.Spec) { spec.ID = "" }, core.CodeInvalid},
		"bad id":      {func(spec *core.Spec) { spec.ID = "../x" }, core.CodeInvalid},
		"long id":     {func(spec *core.Spec) { spec.ID = strings.Repeat("a", 64) }, core.CodeInvalid},
		"generation":  {func(spec *core.Spec) { spec.Generation = 2 }, core.CodeInvalid},
		"broken JSON": {func(spec *core.Spec) { spec.Input = json.RawMessage(`{"a":`) }, core.CodeInvalid},
	} {
		spec := Spec("ann")
		c.change(&spec)
		_, _, err := s.Create(t.Context(), spec)
		require.Error(t, err, name)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
	rows, err := s.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	require.Empty(t, rows)
}

func list(t *testing.T, s school.ResultStore) {
	var made []core.Spec
	for i, submitter := range []string{"ann", "bob", "ann"} {
		spec := Spec(submitter)
		spec.Pool, spec.Assignment = fmt.Sprintf("p%d", i%2), fmt.Sprintf("hw%d", i/2)
		made = append(made, mustCreate(t, s, spec))
	}
	end := Result(made[1], "1.1")
	end.State, end.Stdout, end.Stderr = core.RequestFailed, "out", "err"
	mustRecord(t, s, end, true)

	for _, c := range []struct {
		name string
		f    core.Filter
		want []int // newest first
	}{
		{"all", core.Filter{}, []int{2, 1, 0}},
		{"submitter", core.Filter{Submitter: "ann"}, []int{2, 0}},
		{"pool", core.Filter{Pool: "p1"}, []int{1}},
		{"assignment", core.Filter{Assignment: "hw0"}, []int{1, 0}},
		{"state", core.Filter{States: []core.RequestState{core.RequestQueued}}, []int{2, 0}},
		{"states", core.Filter{States: []core.RequestState{core.RequestQueued, core.RequestFailed}}, []int{2, 1, 0}},
		{"before", core.Filter{Before: made[2].ID}, []int{1, 0}},
		{"after", core.Filter{After: made[0].ID}, []int{2, 1}},
		{"between", core.Filter{After: made[0].ID, Before: made[2].ID}, []int{1}},
		{"limit", core.Filter{Limit: 1}, []int{2}},
		{"together", core.Filter{Submitter: "ann", Pool: "p0", Before: made[2].ID, Limit: 5}, []int{0}},
		{"nothing", core.Filter{Submitter: "ann", Pool: "p1"}, []int{}},
		{"quoted", core.Filter{Submitter: "ann' OR 1 --"}, []int{}},
	} {
		want := []string{}
		for _, i := range c.want {
			want = append(want, made[i].ID)
		}
		rows, err := s.List(t.Context(), c.f)
		require.NoError(t, err, c.name)
		require.Equal(t, want, ids(rows), c.name)
	}

	rows, err := s.List(t.Context(), core.Filter{States: []core.RequestState{core.RequestFailed}})
	require.NoError(t, err)
	end.Stdout, end.Stderr = "", ""
	require.Equal(t, &end, rows[0].Result)
	require.Equal(t, core.RequestFailed, rows[0].State)
	require.Positive(t, rows[0].Finished)

	for _, f := range []core.Filter{{Limit: -1}, {Limit: 1001}, {States: make([]core.RequestState, 17)}} {
		_, err := s.List(t.Context(), f)
		requireCode(t, core.CodeInvalid, err)
	}
}

func listPages(t *testing.T, s school.ResultStore) {
	const n = 57
	want := []string{}
	for range n {
		want = append(want, mustCreate(t, s, Spec("ann")).ID)
	}
	slices.Reverse(want)
	first, err := s.List(t.Context(), core.Filter{})
	require.NoError(t, err)
	require.Len(t, first, 50, "the default page")

	got := []string{}
	for before := ""; ; {
		rows, err := s.List(t.Context(), core.Filter{Before: before, Limit: 10})
		require.NoError(t, err)
		got = append(got, ids(rows)...)
		if len(rows) < 10 {
			break
		}
		before = rows[9].Spec.ID
	}
	require.Equal(t, want, got)
}

func unfinished(t *testing.T, s school.ResultStore) {
	var want []core.Spec
	for i := range 25 {
		spec := mustCreate(t, s, Spec("ann"))
		if i%3 == 0 {
			mustRecord(t, s, Result(spec, "1.1"), true)
			continue
		}
		want = append(want, spec)
	}
	var got []core.Spec
	for after := ""; ; {
		page, err := s.Unfinished(t.Context(), after, 7)
		require.NoError(t, err)
		got = append(got, page...)
		if len(page) < 7 {
			break
		}
		after = page[6].ID
	}
	require.Equal(t, want, got)
	for _, limit := range []int{0, -1, 10_001} {
		_, err := s.Unfinished(t.Context(), "", limit)
		requireCode(t, core.CodeInvalid, err)
	}
}

func digests(t *testing.T, s school.ResultStore) {
	spec := full()
	mustCreate(t, s, spec)
	want := map[string]bool{spec.Stdin.Digest: true, spec.Harness.Digest: true, spec.Attachment.Digest: true, spec.Files[0].Digest: true, spec.Files[1].Digest: true}
	numbered := func(i int) string { return fmt.Sprintf("sha256:%064x", i) }
	together(t, 230, func(i int) error { // more than any page
		other := Spec("bob")
		other.Files = []core.File{{Path: "a", Digest: numbered(i), Size: 1}}
		_, _, err := s.Create(t.Context(), other)
		return err
	})
	for i := range 230 {
		want[numbered(i)] = true
	}
	made := mustCreate(t, s, Spec("eve"))
	for i := range 230 {
		res := Result(made, fmt.Sprintf("1.%d", i)) // all but the first are refused, and some of those are not kept
		if res.Files = []core.File{{Path: "b", Digest: numbered(1000 + i), Size: 1}}; i == 0 {
			want[numbered(1000)] = true
		}
		_, err := s.Record(t.Context(), res)
		require.NoError(t, err)
	}
	got := map[string]bool{}
	require.NoError(t, s.Digests(t.Context(), func(digest string) error { got[digest] = true; return nil }))
	for digest := range want {
		require.True(t, got[digest], digest)
		delete(got, digest)
	}
	for digest := range got {
		require.Greater(t, digest, numbered(1000), "only what was recorded later is named beside")
	}

	stop := fmt.Errorf("stop")
	require.ErrorIs(t, s.Digests(t.Context(), func(string) error { return stop }), stop)
}
