package requests_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"drover/core"
	"drover/core/blobs/pack"
	"drover/core/harness"
	"drover/core/requests"
	"drover/core/requests/intake"

	"github.com/stretchr/testify/require"
)

func draft(change ...func(*requests.Draft)) requests.Draft {
	d := requests.Draft{Pool: pool, Command: []string{"cat", "a.txt"}}
	for _, c := range change {
		c(&d)
	}
	return d
}

func TestSubmitAndOpen(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	v, created, err := w.service.Submit(t.Context(), as("rosa"), draft(func(d *requests.Draft) {
		d.Files = uploads(file("a.txt", "one"), intake.Upload{Part: intake.PartStdin, Content: file("", "in").Content})
		d.Idempotency = "once"
	}))
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, "rosa", v.Submitter)
	require.Equal(t, "a.txt", v.Brought[0].Path)
	again, created, err := w.service.Submit(t.Context(), as("rosa"), draft(func(d *requests.Draft) { d.Idempotency = "once" }))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, v.ID, again.ID)
	// Its files are not read, nor is it refused for what has changed since.
	again, created, err = w.service.Submit(t.Context(), as("rosa"), draft(func(d *requests.Draft) {
		d.Idempotency, d.Pool = "once", "gone"
		d.Files = func(func(intake.Upload, error) bool) { t.Error("files of a repeat are read") }
	}))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, v.ID, again.ID)

	c := w.claim()
	require.Equal(t, int64(2), c.ReadSpec().Stdin.Size)
	_, _, err = w.service.OpenFile(t.Context(), as("rosa"), v.ID, "a.txt")
	requireCode(t, core.CodeConflict, err)
	w.end(c, func(r *core.Result) { r.Files = []core.File{{Path: "kept", Digest: v.Brought[0].Digest, Size: 3}} })
	_, content, err := w.service.OpenFile(t.Context(), as("rosa"), v.ID, "kept")
	require.NoError(t, err)
	got, err := io.ReadAll(content)
	require.NoError(t, err)
	require.NoError(t, content.Close())
	require.Equal(t, "one", string(got))
	_, _, err = w.service.OpenFile(t.Context(), as("rosa"), v.ID, "a.txt")
	requireCode(t, core.CodeNotFound, err)
}

// What nobody may ask for is refused before a byte of its files is read.
func TestSubmitRefusesFirst(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	unread := func(yield func(intake.Upload, error) bool) {
		t.Error("a file was asked for")
		yield(intake.Upload{}, errors.New("no"))
	}
	for name, c := range map[string]struct {
		code   core.Code
		change func(*requests.Draft)
	}{
		"another's":    {core.CodeForbidden, func(d *requests.Draft) { d.Submitter = "ann" }},
		"before all":   {core.CodeForbidden, func(d *requests.Draft) { d.Priority = core.PriorityHigh }},
		"webhooks":     {core.CodeForbidden, func(d *requests.Draft) { d.Notify = []string{"w"} }},
		"no pool":      {core.CodeNotFound, func(d *requests.Draft) { d.Pool = "p9" }},
		"too much":     {core.CodeInvalid, func(d *requests.Draft) { d.Limits.Memory = 1 << 50 }},
		"bad variable": {core.CodeInvalid, func(d *requests.Draft) { d.Env = []string{"="} }},
		"long key":     {core.CodeLimit, func(d *requests.Draft) { d.Idempotency = string(make([]byte, 101)) }},
	} {
		_, _, err := w.service.Submit(t.Context(), as("rosa"), draft(c.change, func(d *requests.Draft) { d.Files = unread }))
		require.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
	}
}

func TestSubmitBoundsItsFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stdin := func() intake.Upload {
		return intake.Upload{Part: intake.PartStdin, Content: file("", "").Content}
	}
	for name, c := range map[string]struct {
		code  core.Code
		files []intake.Upload
	}{
		"too large":   {core.CodeLimit, []intake.Upload{file("a", string(make([]byte, 1<<20))), file("b", "1")}},
		"escape":      {core.CodeInvalid, []intake.Upload{file("../a", "")}},
		"no path":     {core.CodeInvalid, []intake.Upload{file(".", "")}},
		"twice":       {core.CodeInvalid, []intake.Upload{file("a", ""), file("a", "")}},
		"two inputs":  {core.CodeInvalid, []intake.Upload{stdin(), stdin()}},
		"odd part":    {core.CodeInvalid, []intake.Upload{{Part: "odd", Content: file("", "").Content}}},
		"bad harness": {core.CodeInvalid, []intake.Upload{{Part: intake.PartHarness, Content: file("", "no tar").Content}}},
	} {
		_, _, err := w.service.Submit(t.Context(), as("rosa"), draft(func(d *requests.Draft) {
			d.Limits.Disk, d.Files = 1<<20, uploads(c.files...)
		}))
		require.Equal(t, c.code, core.CodeOf(err), "%s: %v", name, err)
	}
	_, _, err := w.service.Submit(t.Context(), as("rosa"), requests.Draft{Pool: pool})
	requireCode(t, core.CodeInvalid, err)
}

func TestSubmitWithHarness(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n"), 0o755))
	p, err := harness.Pack(dir)
	require.NoError(t, err)
	_, _, err = w.service.Submit(t.Context(), as("rosa"), requests.Draft{Pool: pool, Files: uploads(
		intake.Upload{Part: intake.PartHarness, Content: p.Tar()}, file("main.py", "print()"),
	)})
	require.NoError(t, err)
	c := w.claim()
	s := c.ReadSpec()
	require.NotNil(t, s.Harness)
	in, err := harness.ParseInput(s.Input)
	require.NoError(t, err)
	require.Equal(t, harness.TestPublic, in.TestType)
}

// An operator's tests may be larger than a VM's disk, for VMs get a test at a time. Programs may not, nor what others send.
func TestLargeHarnesses(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const disk = 1 << 20
	packed := func(first, text string) intake.Upload {
		p, err := harness.PackFiles(map[string]pack.File{first: {Content: []byte(text)}, "large": {Content: make([]byte, disk)}})
		require.NoError(t, err)
		return intake.Upload{Part: intake.PartHarness, Content: p.Tar()}
	}
	const tests = "run: ./a.out\ntests:\n- {name: one, input: {file: large}, output: x}\n"
	send := func(who, first, text string, after ...intake.Upload) error {
		_, _, err := w.service.Submit(t.Context(), as(who), requests.Draft{Pool: pool, Limits: core.Limits{Disk: disk}, Files: uploads(append([]intake.Upload{packed(first, text)}, after...)...)})
		return err
	}
	require.NoError(t, send("olga", "cases.yaml", tests, file("a", string(make([]byte, disk)))))
	requireCode(t, core.CodeLimit, send("olga", "cases.yaml", tests, file("a", string(make([]byte, disk+1)))))
	requireCode(t, core.CodeLimit, send("olga", "main", "#!/bin/sh\n"))
	requireCode(t, core.CodeLimit, send("rosa", "cases.yaml", tests))
}

// What one does to another's requests is in the audit log; to one's own it is not.
func TestControlOfOthersIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	mine, theirs := w.submit("olga"), w.submit("rosa")
	for _, s := range []core.Spec{mine, theirs} {
		require.NoError(t, done(w.service.Cancel(t.Context(), as("olga"), s.ID)))
	}
	_, _, err := w.service.Submit(t.Context(), as("olga"), draft(func(d *requests.Draft) { d.Submitter = "ann" }))
	require.NoError(t, err)
	entries, err := w.store.ListAuditEntries(t.Context(), core.AuditFilter{})
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Equal(t, "requests a run for ann in pool p1", entries[0].Text)
	require.Equal(t, "stops request "+theirs.ID+" of rosa", entries[1].Text)
}
