package requests_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
	"drover/core/requests"
)

const (
	oldImage = "sha256:1111111111111111111111111111111111111111111111111111111111111111"
	newImage = "sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// blob stores a content and returns a file of it.
func (w *fixture) blob(path, content string) *core.File {
	w.t.Helper()
	digest, size, err := w.service.Blobs.Put(w.t.Context(), strings.NewReader(content), 1<<20)
	require.NoError(w.t, err)
	return &core.File{Path: path, Digest: digest, Size: size}
}

// image makes an image the newest of its name.
func (w *fixture) image(name, digest string) {
	w.t.Helper()
	require.NoError(w.t, w.store.PutImage(w.t.Context(), core.Image{Name: name, Digest: digest, Size: 1, Files: 1, Bytes: 1}))
}

// replaying is a fixture whose pool has the old image.
func replaying(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t)
	w.image("debian", oldImage)
	w.pool(func(p *core.Pool) { p.Image = "debian" })
	return w
}

// runs submits a request and ends it in the old image.
func (w *fixture) runs(submitter string, result func(*core.Result), change ...func(*core.Spec)) core.Spec {
	w.t.Helper()
	s := w.submit(submitter, change...)
	w.endsIn(result)
	return s
}

func (w *fixture) endsIn(result func(*core.Result)) core.Spec {
	w.t.Helper()
	c := w.claim()
	w.end(c, func(r *core.Result) { r.Image = oldImage }, result)
	return c.ReadSpec()
}

func (w *fixture) replays(who, id string) requests.View {
	w.t.Helper()
	v, created, err := w.service.Replay(w.t.Context(), as(who), id, requests.ReplayOptions{})
	require.NoError(w.t, err)
	require.True(w.t, created)
	return v
}

func plain(r *core.Result) { r.Score, r.MaxScore = nil, nil }

// What belongs to a request alone is not its replay's; a new field of a spec has to be one or the other.
func TestReplayIsTheSameSpec(t *testing.T) {
	t.Parallel()
	apart := map[string]bool{
		"ID": true, "Generation": true, "Priority": true, "Submitter": true, "Due": true, "Change": true, "Attachment": true, "Assignment": true,
		"Submission": true, "Instead": true, "Replays": true, "Type": true, "Batch": true, "Notify": true, "Callback": true, "Supersede": true,
		"Idempotency": true, "Submitted": true,
	}
	s := core.Spec{
		ID: "i", Generation: 2, Pool: "p", Priority: core.PriorityHigh, Submitter: "ann", Due: 1, Change: 1, Command: []string{"c"}, Env: []string{"A=1"},
		Stdin: &core.File{}, Files: []core.File{{}}, Harness: &core.File{}, Attachment: &core.File{}, Input: []byte("{}"), Collect: []string{"c"},
		Assignment: "cs101/hw1", Submission: "s", Instead: "i", Type: "t", Batch: "b", Notify: []string{"n"}, Callback: "c", Supersede: true,
		Idempotency: "k", OnHostLoss: core.OnHostLossFail, Limits: core.Limits{Pids: 1}, Submitted: 5, Replays: &core.Replays{},
	}
	was, is := reflect.ValueOf(s), reflect.ValueOf(s.Replay("tess"))
	for i := range was.NumField() {
		name := was.Type().Field(i).Name
		require.False(t, was.Field(i).IsZero(), "give %s a value here", name)
		require.Equal(t, !apart[name], reflect.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()), "%s: belongs to the one request, or not?", name)
	}
}

// A plain request runs again as it was, for its submitter and for operators, and differs in what it came to.
func TestReplayOfAPlainRequest(t *testing.T) {
	t.Parallel()
	w := replaying(t)
	s := w.runs("rosa", plain, func(s *core.Spec) {
		s.Files, s.Idempotency, s.Assignment, s.Priority = []core.File{*w.blob("in.txt", "a")}, "once", "label", core.PriorityNormal
	})
	v := w.replays("rosa", s.ID)
	require.Equal(t, s.ID, v.Replays)
	requireCode(t, core.CodeConflict, done(w.service.Compare(t.Context(), as("rosa"), v.ID)))
	ran := w.endsIn(plain)
	require.Equal(t, v.ID, ran.ID)
	require.Equal(t, []any{s.Command, s.Env, s.Files, s.Limits, s.Pool, core.PriorityLow, "", core.ReplayLabel(s.ID)},
		[]any{ran.Command, ran.Env, ran.Files, ran.Limits, ran.Pool, ran.Priority, ran.Idempotency, ran.Assignment})
	c, err := w.service.Compare(t.Context(), as("rosa"), v.ID)
	require.NoError(t, err)
	require.True(t, c.Same, "%+v", c)
	require.Empty(t, c.Changed)

	w.replays("olga", s.ID)
	again := w.endsIn(func(r *core.Result) {
		plain(r)
		r.ExitCode, r.Stdout, r.Image = 3, "other", newImage
	})
	c, err = w.service.Compare(t.Context(), as("olga"), again.ID)
	require.NoError(t, err)
	require.False(t, c.Same)
	require.True(t, c.Decided)
	require.Equal(t, requests.Difference{What: requests.ComparedExit, Was: "0", Is: "3"}, find(c.Differences, requests.ComparedExit))
	require.NotEmpty(t, find(c.Differences, requests.ComparedStdout).Is)
	require.Equal(t, []requests.Difference{{What: requests.ComparedImage, Was: oldImage, Is: newImage}}, c.Changed, "it did not run as it was")

	w.replays("rosa", s.ID)
	lost := w.endsIn(func(r *core.Result) { plain(r); r.State, r.Blame = core.RequestDead, core.BlamePlatform })
	c, err = w.service.Compare(t.Context(), as("rosa"), lost.ID)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false}, []bool{c.Same, c.Decided}, "a fault of the platform says nothing about the request")

	row, err := w.store.Get(t.Context(), s.ID)
	require.NoError(t, err)
	require.Equal(t, 1, row.Spec.Generation, "no attempt of the request")
	tries, err := w.store.Attempts(t.Context(), s.ID)
	require.NoError(t, err)
	require.Len(t, tries, 1)
	entries, err := w.store.ListAuditEntries(t.Context(), core.AuditFilter{Limit: 10})
	require.NoError(t, err)
	require.Contains(t, entries[0].Text, "runs request "+s.ID+" of rosa again as it was")
}

func find(all []requests.Difference, what requests.Compared) requests.Difference {
	for _, d := range all {
		if d.What == what {
			return d
		}
	}
	return requests.Difference{}
}

// A graded request's replay is for the staff of its class, tells the harness what the first one told, and tests are compared
// one by one.
func TestReplayOfAGradedRequest(t *testing.T) {
	t.Parallel()
	w := replaying(t)
	tests := func(verdict string, score float64) func(*core.Result) {
		return func(r *core.Result) {
			r.Score = &score
			r.Tests = []core.Test{
				{Name: "one", Verdict: core.TestAccepted, Score: 1, MaxScore: 1, Usage: &core.Usage{CPUMs: 10}},
				{Name: "two", Verdict: verdict, Score: score, MaxScore: 1, Usage: &core.Usage{CPUMs: 990}},
			}
		}
	}
	first := w.blob(harness.TarFile, "a harness")
	s := w.runs("ann", tests(core.TestAccepted, 1), grading("cs101/hw1"), func(s *core.Spec) {
		s.Command, s.Harness, s.Supersede, s.Due = nil, first, true, start
	})
	for who, code := range map[string]core.Code{
		"ann": core.CodeNotFound, "cleo": core.CodeNotFound, "left": core.CodeNotFound, "theo": core.CodeNotFound, "rosa": core.CodeNotFound, "olga": core.CodeForbidden,
	} {
		_, _, err := w.service.Replay(t.Context(), as(who), s.ID, requests.ReplayOptions{})
		require.Equal(t, code, core.CodeOf(err), "%s: %v", who, err)
	}
	w.blob(harness.TarFile, "another harness") // the assignment's by now
	v := w.replays("tess", s.ID)
	ran := w.endsIn(tests(core.TestTimeLimit, 0))
	require.Equal(t, first, ran.Harness, "the old harness")
	require.False(t, ran.Notifies())
	require.Equal(t, []any{"", "", false, int64(0), "tess"}, []any{ran.Submission, ran.Graded(), ran.Supersede, ran.Due, ran.Submitter})
	stdin := func(s *core.Spec) string {
		in, err := harness.ParseInput(harness.NewInput(harness.Config{}, harness.TestPublic))
		require.NoError(t, err)
		raw, err := in.Stdin(s, harness.Places{}, nil)
		require.NoError(t, err)
		return string(raw)
	}
	require.JSONEq(t, stdin(&s), stdin(&ran), "the harness is told the same")
	for who, code := range map[string]core.Code{
		"tess": "", "tina": "", "root": "", "ann": core.CodeNotFound, "cleo": core.CodeNotFound, "theo": core.CodeNotFound, "rosa": core.CodeNotFound, "olga": core.CodeForbidden,
	} {
		c, err := w.service.Compare(t.Context(), as(who), v.ID)
		require.Equal(t, code, core.CodeOf(err), "%s: %v", who, err)
		if err == nil {
			require.Equal(t, requests.Difference{What: requests.ComparedTestVerdict, Of: "two", Was: core.TestAccepted, Is: core.TestTimeLimit}, find(c.Differences, requests.ComparedTestVerdict))
			require.Equal(t, int64(990), c.Tests[1].Is.CPUMs)
			require.Empty(t, find(c.Differences, requests.ComparedStdout), "what a harness prints is no finding")
		}
	}
	bare, err := w.service.View(t.Context(), as("olga"), v.ID)
	require.NoError(t, err)
	require.Nil(t, bare.Tests, "operators do not learn what tests found")
	require.NoError(t, done(w.service.Remove(t.Context(), as("tess"), v.ID)), "it is hers")
}

// A replay needs VMs with the same network, and with a peer where the request had one; what differs is named.
func TestReplayNeedsTheSameVMs(t *testing.T) {
	t.Parallel()
	w := replaying(t)
	ranIn := func(network string, peer bool) func(*core.Result) {
		return func(r *core.Result) {
			plain(r)
			r.Receipt = &core.Receipt{Network: network, Peer: peer}
		}
	}
	s := w.runs("rosa", ranIn(core.NetworkNone, false))
	w.replays("rosa", s.ID)
	again := w.endsIn(ranIn(core.NetworkEgress, true))
	c, err := w.service.Compare(t.Context(), as("rosa"), again.ID)
	require.NoError(t, err)
	require.Equal(t, []requests.Difference{{What: requests.ComparedNetwork, Was: "none", Is: "egress"}, {What: requests.ComparedPeer, Was: "false", Is: "true"}}, c.Changed)

	w.pool(func(p *core.Pool) { p.Image, p.Network = "debian", core.NetworkEgress })
	_, _, err = w.service.Replay(t.Context(), as("rosa"), s.ID, requests.ReplayOptions{})
	requireCode(t, core.CodeConflict, err)
	require.ErrorContains(t, err, `the network of its VM was "none", and that of pool p1 is "egress"`)
	w.pool(func(p *core.Pool) { p.Image, p.Peer = "debian", true })
	_, _, err = w.service.Replay(t.Context(), as("rosa"), s.ID, requests.ReplayOptions{})
	requireCode(t, core.CodeConflict, err)
	require.ErrorContains(t, err, "its VM had no peer, and a VM of pool p1 has a peer")
}

// What is not there any more is named, with what can be done.
func TestReplayNeedsWhatItWas(t *testing.T) {
	t.Parallel()
	w := replaying(t)
	s := w.runs("rosa", plain)
	refused := func(id string, code core.Code, says string, o requests.ReplayOptions) {
		t.Helper()
		_, _, err := w.service.Replay(t.Context(), as("rosa"), id, o)
		requireCode(t, code, err)
		require.Contains(t, err.Error(), says)
	}
	w.image("debian", newImage)
	refused(s.ID, core.CodeConflict, "pool p1 has debian@"+newImage+" by now; the old image is kept: replay the request in a pool that has it", requests.ReplayOptions{})
	other := core.DefaultPool("old")
	other.Image = "debian@" + oldImage
	require.NoError(t, w.in.SetPool(t.Context(), other))
	v, _, err := w.service.Replay(t.Context(), as("rosa"), s.ID, requests.ReplayOptions{Pool: "old", Idempotency: "k"})
	require.NoError(t, err)
	require.Equal(t, "old", v.Pool)
	again, created, err := w.service.Replay(t.Context(), as("rosa"), s.ID, requests.ReplayOptions{Pool: "old", Idempotency: "k"})
	require.NoError(t, err)
	require.Equal(t, []any{v.ID, false}, []any{again.ID, created}, "a repeated call is one replay")
	require.NoError(t, w.store.DeleteImage(t.Context(), "debian@"+oldImage))
	refused(s.ID, core.CodeConflict, "it ran in image "+oldImage+", which is not kept any more", requests.ReplayOptions{})
	refused(s.ID, core.CodeConflict, "there is no pool gone", requests.ReplayOptions{Pool: "gone"})
	_, err = w.in.Cancel(t.Context(), v.ID, "test")
	require.NoError(t, err)
	refused(v.ID, core.CodeInvalid, "replay request "+s.ID, requests.ReplayOptions{})
	requireCode(t, core.CodeInvalid, done(w.service.Compare(t.Context(), as("rosa"), s.ID)))
	refused("../../x", core.CodeNotFound, "there is no request", requests.ReplayOptions{})
	refused(newID(), core.CodeNotFound, "there is no request", requests.ReplayOptions{})

	w.image("debian", oldImage)
	w.pool(func(p *core.Pool) { p.Image, p.Limits.Timeout = "debian", time.Second })
	refused(s.ID, core.CodeConflict, "timeout 1m0s is more than pool p1 allows", requests.ReplayOptions{})
	w.pool(func(p *core.Pool) { p.Image = "debian" })
	waits := w.submit("rosa")
	refused(waits.ID, core.CodeConflict, "has not ended", requests.ReplayOptions{})
	_, err = w.in.Cancel(t.Context(), waits.ID, "test")
	require.NoError(t, err)
	refused(waits.ID, core.CodeConflict, "never ran", requests.ReplayOptions{})

	for what, change := range map[string]func(*core.Spec, *core.File){
		"its harness (": func(s *core.Spec, f *core.File) { s.Command, s.Harness = nil, f },
		"file in.txt":   func(s *core.Spec, f *core.File) { f.Path = "file in.txt"; s.Files = []core.File{*f} },
	} {
		f := w.blob("h", "content of "+what)
		s := w.runs("rosa", plain, func(s *core.Spec) { change(s, f) })
		for _, after := range []time.Duration{2 * time.Hour, 4 * time.Hour} { // to the trash, and out of it
			_, err := w.service.Blobs.Purge(t.Context(), time.Now().Add(after), time.Hour, func(digest string) bool { return digest != f.Digest })
			require.NoError(t, err)
		}
		refused(s.ID, core.CodeConflict, what, requests.ReplayOptions{})
		refused(s.ID, core.CodeConflict, f.Digest, requests.ReplayOptions{})
	}
}
