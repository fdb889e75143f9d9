package requests_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"drover/core"
	"drover/core/harness"
	"drover/core/requests"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

// setType sets a type of olga's.
func (w *fixture) setType(t core.JobType) core.JobType {
	w.t.Helper()
	if t.Priority == "" {
		t.Priority = core.PriorityNormal
	}
	t.Name, t.Pool = "compile", pool
	got, err := w.service.SetJobType(w.t.Context(), as("olga"), t)
	require.NoError(w.t, err)
	return got
}

// aHarness is a harness as it is uploaded.
func aHarness(t *testing.T) intake.Upload {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.ConfigFile), []byte(`{"drover/timeout":5}`), 0o600))
	p, err := harness.Pack(dir)
	require.NoError(t, err)
	return intake.Upload{Part: intake.PartHarness, Content: p.Tar()}
}

// A type with a harness grades what its requests bring.
func TestTypeWithAHarness(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.setType(core.JobType{Command: []string{"make"}, Collect: []string{"out"}})
	set, err := w.service.SetTypeHarness(t.Context(), as("olga"), "compile", aHarness(t).Content)
	require.NoError(t, err)
	require.Empty(t, set.Command)
	v, _, err := w.service.Submit(t.Context(), as("rosa"), requests.Draft{Type: "compile", Files: uploads(file("main.py", "print()"))})
	require.NoError(t, err)
	row, err := w.store.Get(t.Context(), v.ID)
	require.NoError(t, err)
	require.Equal(t, set.Harness, row.Spec.Harness)
	require.JSONEq(t, string(set.Input), string(row.Spec.Input))
	b := w.batch("rosa", requests.BatchDraft{Type: "compile", Jobs: []requests.Job{{}, {Input: []byte(`{"own":1}`)}}})
	require.Equal(t, set.Harness, w.job(b.ID, 0).Spec.Harness)
	require.JSONEq(t, `{"own":1}`, string(w.job(b.ID, 1).Spec.Input))
	own := requests.BatchDraft{Pool: pool, Jobs: make([]requests.Job, 2), Files: brought(requests.JobUpload{Upload: aHarness(t), Job: requests.AllJobs})}
	b = w.batch("rosa", own)
	require.NotNil(t, w.job(b.ID, 1).Spec.Harness, "a batch brings one for all its jobs")
	require.NotEmpty(t, w.job(b.ID, 1).Spec.Input)
	require.NoError(t, w.service.DeleteJobType(t.Context(), as("olga"), "compile"))
	_, err = w.service.SetTypeHarness(t.Context(), as("olga"), "compile", aHarness(t).Content)
	requireCode(t, core.CodeNotFound, err)
}

// A request has what its type says, and may ask for less.
func TestRequestOfAType(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.setType(core.JobType{
		Command: []string{"make"}, Env: []string{"A=1", "B=2"}, Collect: []string{"out"}, Priority: core.PriorityHigh,
		Limits: core.Limits{Timeout: 5 * time.Second, Memory: 32 << 20},
	})
	v, _, err := w.service.Submit(t.Context(), as("rosa"), requests.Draft{Type: "compile"})
	require.NoError(t, err, "a type may give a priority that the submitter could not ask for")
	row, err := w.store.Get(t.Context(), v.ID)
	require.NoError(t, err)
	s := row.Spec
	require.Equal(t, []any{"compile", pool, core.PriorityHigh, []string{"make"}, []string{"A=1", "B=2"}, []string{"out"}},
		[]any{s.Type, s.Pool, s.Priority, s.Command, s.Env, s.Collect})
	require.Equal(t, core.DefaultPool(pool).Limits.Disk, s.Limits.Disk)
	require.Equal(t, []any{5 * time.Second, int64(32 << 20)}, []any{s.Limits.Timeout, s.Limits.Memory})
	require.Equal(t, "compile", v.Type)

	v, _, err = w.service.Submit(t.Context(), as("rosa"), requests.Draft{
		Type: "compile", Pool: pool, Priority: core.PriorityLow, Command: []string{"make"}, Env: []string{"B=3", "C=4"}, Collect: []string{"log"},
		Limits: core.Limits{Timeout: time.Second},
	})
	require.NoError(t, err)
	row, err = w.store.Get(t.Context(), v.ID)
	require.NoError(t, err)
	s = row.Spec
	require.Equal(t, []any{core.PriorityLow, []string{"A=1", "B=3", "C=4"}, []string{"log"}, time.Second, int64(32 << 20)},
		[]any{s.Priority, s.Env, s.Collect, s.Limits.Timeout, s.Limits.Memory})
	p, err := w.service.Preview(t.Context(), as("rosa"), requests.Draft{Type: "compile"})
	require.NoError(t, err)
	require.NotEmpty(t, p.Text)

	// Neither a change of the type nor its deletion affects what was accepted.
	require.NoError(t, w.service.DeleteJobType(t.Context(), as("olga"), "compile"))
	after, err := w.store.Get(t.Context(), v.ID)
	require.NoError(t, err)
	require.Equal(t, row, after)
}

func TestRequestBeyondItsType(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.setType(core.JobType{Command: []string{"make"}, Limits: core.Limits{Timeout: 5 * time.Second, Memory: 32 << 20}, Submitters: []string{"rosa", "olga"}})
	for name, c := range map[string]struct {
		who    string
		change func(d *requests.Draft)
		code   core.Code
	}{
		"priority":     {"olga", func(d *requests.Draft) { d.Priority = core.PriorityHigh }, core.CodeInvalid},
		"pool":         {"rosa", func(d *requests.Draft) { d.Pool = "p2" }, core.CodeInvalid},
		"command":      {"rosa", func(d *requests.Draft) { d.Command = []string{"rm"} }, core.CodeInvalid},
		"harness":      {"rosa", func(d *requests.Draft) { d.Files = uploads(aHarness(t)) }, core.CodeInvalid},
		"timeout":      {"rosa", func(d *requests.Draft) { d.Limits.Timeout = 6 * time.Second }, core.CodeInvalid},
		"memory":       {"rosa", func(d *requests.Draft) { d.Limits.Memory = 33 << 20 }, core.CodeInvalid},
		"another's":    {"root", func(*requests.Draft) {}, core.CodeNotFound},
		"unknown type": {"rosa", func(d *requests.Draft) { d.Type = "gone" }, core.CodeNotFound},
		"odd type":     {"rosa", func(d *requests.Draft) { d.Type = "A B" }, core.CodeInvalid},
	} {
		draft := requests.Draft{Type: "compile"}
		c.change(&draft)
		_, _, err := w.service.Submit(t.Context(), as(c.who), draft)
		require.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
	}
	page, err := w.service.List(t.Context(), as("root"), requests.Filter{})
	require.NoError(t, err)
	require.Empty(t, page.Items)

	// What was accepted is found by its key, whatever became of its type.
	v, created, err := w.service.Submit(t.Context(), as("rosa"), requests.Draft{Type: "compile", Idempotency: "k"})
	require.NoError(t, err)
	require.True(t, created)
	require.NoError(t, w.service.DeleteJobType(t.Context(), as("olga"), "compile"))
	again, created, err := w.service.Submit(t.Context(), as("rosa"), requests.Draft{Type: "compile", Idempotency: "k"})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, v.ID, again.ID)
}

func TestJobTypesAreChecked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, c := range map[string]struct {
		change func(t *core.JobType)
		code   core.Code
	}{
		"name":      {func(t *core.JobType) { t.Name = "A" }, core.CodeInvalid},
		"pool":      {func(t *core.JobType) { t.Pool = "gone" }, core.CodeNotFound},
		"priority":  {func(t *core.JobType) { t.Priority = "odd" }, core.CodeInvalid},
		"submitter": {func(t *core.JobType) { t.Submitters = []string{"A"} }, core.CodeInvalid},
		"env":       {func(t *core.JobType) { t.Env = []string{"x"} }, core.CodeInvalid},
		"limits":    {func(t *core.JobType) { t.Limits.Timeout = core.MaxTimeout }, core.CodeInvalid},
		"negative":  {func(t *core.JobType) { t.Limits.Memory = -1 }, core.CodeInvalid},
		"input":     {func(t *core.JobType) { t.Input = []byte(`{}`) }, core.CodeInvalid},
		"harness":   {func(t *core.JobType) { t.Command, t.Harness = nil, &core.File{Digest: "sha256:odd"} }, core.CodeInvalid},
		"both":      {func(t *core.JobType) { t.Harness = &core.File{} }, core.CodeInvalid},
	} {
		jt := core.JobType{Name: "compile", Pool: pool, Priority: core.PriorityNormal, Command: []string{"make"}}
		c.change(&jt)
		_, err := w.service.SetJobType(t.Context(), as("olga"), jt)
		require.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
	}
	all, err := w.service.JobTypes(t.Context(), as("olga"))
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestWhoMayUseJobTypes(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.setType(core.JobType{Env: []string{"KEY=secret"}, Submitters: []string{"rosa"}})
	for who, sees := range map[string]string{"root": "all", "olga": "all", "otto": "bare", "rosa": "bare"} {
		all, err := w.service.JobTypes(t.Context(), as(who))
		require.NoError(t, err, who)
		require.Len(t, all, 1)
		require.Equal(t, sees == "all", all[0].Env[0] == "KEY=secret" && all[0].Submitters != nil, who)
		one, err := w.service.JobType(t.Context(), as(who), "compile")
		require.NoError(t, err)
		require.Equal(t, all[0], one)
	}
	other := core.Actor{Handle: "rolf", Roles: []core.UserRole{core.RoleRunner}}
	all, err := w.service.JobTypes(t.Context(), other)
	require.NoError(t, err)
	require.Empty(t, all)
	requireCode(t, core.CodeNotFound, done(w.service.JobType(t.Context(), other, "compile")))
	requireCode(t, core.CodeForbidden, done(w.service.JobTypes(t.Context(), as("ann"))))
	entries, err := w.store.ListAuditEntries(t.Context(), core.AuditFilter{})
	require.NoError(t, err)
	require.Equal(t, "sets job type compile in pool p1", entries[0].Text)
}
