package intake_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/coretest"

	"github.com/stretchr/testify/require"
)

var someDigest = "sha256:" + strings.Repeat("0a", 32)

func file(path string) core.File { return core.File{Path: path, Digest: someDigest, Size: 1} }

func TestCheckRefuses(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	long := strings.Repeat("x", 300)
	many := func(n int) []core.File {
		files := make([]core.File, n)
		for i := range files {
			files[i] = file(fmt.Sprint("f", i))
		}
		return files
	}
	harness := func(s *core.Spec) { s.Command, s.Harness = nil, &core.File{Digest: someDigest} }
	for _, c := range []struct {
		name   string
		change func(s *core.Spec)
		code   core.Code
		says   string
	}{
		{"an id that is no ULID", func(s *core.Spec) { s.ID = "r1" }, core.CodeInvalid, "ULID"},
		{"an upper-case id", func(s *core.Spec) { s.ID = strings.ToUpper(newID()) }, core.CodeInvalid, "lower-case"},
		{"a later generation", func(s *core.Spec) { s.Generation = 2 }, core.CodeInvalid, "rerun"},
		{"no pool", func(s *core.Spec) { s.Pool = "" }, core.CodeInvalid, "pool"},
		{"a bad pool", func(s *core.Spec) { s.Pool = "a:b" }, core.CodeInvalid, "pool"},
		{"an unknown pool", func(s *core.Spec) { s.Pool = "p9" }, core.CodeNotFound, "there are: p1"},
		{"an unknown class", func(s *core.Spec) { s.Priority = "urgent" }, core.CodeInvalid, "high, normal or low"},
		{"an unknown policy", func(s *core.Spec) { s.OnHostLoss = "hope" }, core.CodeInvalid, "requeue or fail"},
		{"no submitter", func(s *core.Spec) { s.Submitter = "" }, core.CodeInvalid, "submitter"},
		{"a bad submitter", func(s *core.Spec) { s.Submitter = "Ann" }, core.CodeInvalid, "submitter"},
		{"nothing to run", func(s *core.Spec) { s.Command = nil }, core.CodeInvalid, "command or a harness"},
		{"two things to run", func(s *core.Spec) { s.Harness = &core.File{Digest: someDigest} }, core.CodeInvalid, "not both"},
		{"too many words", func(s *core.Spec) { s.Command = make([]string, core.MaxArgs+1) }, core.CodeLimit, "257 words"},
		{"an empty program", func(s *core.Spec) { s.Command = []string{"", "x"} }, core.CodeInvalid, "empty"},
		{"a zero byte", func(s *core.Spec) { s.Command = []string{"echo", "a\x00b"} }, core.CodeInvalid, "zero byte"},
		{"a bad variable", func(s *core.Spec) { s.Env = []string{"1A=secret"} }, core.CodeInvalid, `"1A"`},
		{"no variable", func(s *core.Spec) { s.Env = []string{"A"} }, core.CodeInvalid, "NAME=value"},
		{"a zero in a variable", func(s *core.Spec) { s.Env = []string{"A=\x00"} }, core.CodeInvalid, "NAME=value"},
		{"too many variables", func(s *core.Spec) { s.Env = make([]string, 300) }, core.CodeLimit, "300 variables"},
		{"input without harness", func(s *core.Spec) { s.Input = json.RawMessage("{}") }, core.CodeInvalid, "stdin"},
		{"broken input", func(s *core.Spec) { harness(s); s.Input = json.RawMessage("{") }, core.CodeInvalid, "JSON object"},
		{"input that is no object", func(s *core.Spec) { harness(s); s.Input = json.RawMessage("[]") }, core.CodeInvalid, "JSON object"},
		{"stdin for a harness", func(s *core.Spec) { harness(s); s.Stdin = &core.File{Digest: someDigest} }, core.CodeInvalid, "stdin"},
		{"too many files", func(s *core.Spec) { s.Files = many(core.MaxFiles + 1) }, core.CodeLimit, "1001 files"},
		{"an absolute path", func(s *core.Spec) { s.Files = []core.File{file("/etc/passwd")} }, core.CodeInvalid, "/etc/passwd"},
		{"a path that leaves", func(s *core.Spec) { s.Files = []core.File{file("a/../../b")} }, core.CodeInvalid, ".."},
		{"a path that is not clean", func(s *core.Spec) { s.Files = []core.File{file("a//b")} }, core.CodeInvalid, "clean"},
		{"the folder itself", func(s *core.Spec) { s.Files = []core.File{file(".")} }, core.CodeInvalid, "clean"},
		{"no path", func(s *core.Spec) { s.Files = []core.File{file("")} }, core.CodeInvalid, "clean"},
		{"a path that is not UTF-8", func(s *core.Spec) { s.Files = []core.File{file("a\xff")} }, core.CodeInvalid, "clean"},
		{"a control character", func(s *core.Spec) { s.Files = []core.File{file("a\nb")} }, core.CodeInvalid, "control"},
		{"a long name", func(s *core.Spec) { s.Files = []core.File{file(long)} }, core.CodeLimit, "300 bytes"},
		{"a long path", func(s *core.Spec) { s.Files = []core.File{file(strings.Repeat("abc/", 2000) + "x")} }, core.CodeLimit, "8001 bytes"},
		{"a file twice", func(s *core.Spec) { s.Files = []core.File{file("a"), file("a")} }, core.CodeInvalid, "twice"},
		{"a file that is a folder", func(s *core.Spec) { s.Files = []core.File{file("a/b/c"), file("a-"), file("a")} }, core.CodeInvalid, "a folder"},
		{"files of a harness", func(s *core.Spec) { harness(s); s.Collect = []string{"a"} }, core.CodeInvalid, "plain command"},
		{"too much to collect", func(s *core.Spec) { s.Collect = make([]string, core.MaxCollect+1) }, core.CodeLimit, "33 paths"},
		{"a path to collect that leaves", func(s *core.Spec) { s.Collect = []string{"../a"} }, core.CodeInvalid, ".."},
		{"an absolute path to collect", func(s *core.Spec) { s.Collect = []string{"/etc/passwd"} }, core.CodeInvalid, "/etc/passwd"},
		{"all to collect", func(s *core.Spec) { s.Collect = []string{"."} }, core.CodeInvalid, "clean"},
		{"a long path to collect", func(s *core.Spec) { s.Collect = []string{strings.Repeat("abc/", 200) + "x"} }, core.CodeLimit, "801 bytes"},
		{"a deep path to collect", func(s *core.Spec) { s.Collect = []string{strings.Repeat("a/", 32) + "x"} }, core.CodeLimit, "32 folders"},
		{"long paths to collect", func(s *core.Spec) {
			for i := range 4 {
				s.Collect = append(s.Collect, strings.Repeat("\"", 250)+"/"+strings.Repeat(string(rune('a'+i)), 250))
			}
		}, core.CodeLimit, "2004 bytes"},
		{"a bad digest", func(s *core.Spec) { s.Files = []core.File{{Path: "a", Digest: "md5:00"}} }, core.CodeInvalid, "sha256"},
		{"a bad digest of stdin", func(s *core.Spec) { s.Stdin = &core.File{} }, core.CodeInvalid, "stdin"},
		{"a bad digest of the harness", func(s *core.Spec) { s.Command, s.Harness = nil, &core.File{} }, core.CodeInvalid, "harness"},
		{"a negative size", func(s *core.Spec) { s.Files = []core.File{{Path: "a", Digest: someDigest, Size: -1}} }, core.CodeInvalid, "size"},
		{"a set-uid file", func(s *core.Spec) { s.Files = []core.File{{Path: "a", Digest: someDigest, Mode: 0o4755}} }, core.CodeInvalid, "04755"},
		{"more than the disk", func(s *core.Spec) { s.Files = []core.File{{Path: "a", Digest: someDigest, Size: 65 << 20}} }, core.CodeLimit, "disk"},
		{"sizes that overflow", func(s *core.Spec) {
			s.Files = many(3)
			s.Files[0].Size, s.Files[1].Size = 1<<62, 1<<62
		}, core.CodeLimit, "disk"},
		{"supersede without assignment", func(s *core.Spec) { s.Supersede = true }, core.CodeInvalid, "assignment"},
		{"a bad assignment", func(s *core.Spec) { s.Assignment = "a b" }, core.CodeInvalid, "assignment"},
		{"a bad key", func(s *core.Spec) { s.Idempotency = "a\n" }, core.CodeInvalid, "idempotency"},
		{"a long key", func(s *core.Spec) { s.Idempotency = long }, core.CodeInvalid, "idempotency"},
		{"a negative limit", func(s *core.Spec) { s.Limits.Pids = -1 }, core.CodeInvalid, "negative"},
		{"a negative time", func(s *core.Spec) { s.Limits.Timeout = -1 }, core.CodeInvalid, "negative"},
		{"more than the pool gives", func(s *core.Spec) { s.Limits.Memory = 1 << 40 }, core.CodeInvalid, "memory"},
		{"many webhooks", func(s *core.Spec) { s.Notify = make([]string, core.MaxNotify+1) }, core.CodeLimit, "at most 8"},
		{"a webhook's name", func(s *core.Spec) { s.Notify = []string{"A"} }, core.CodeInvalid, "webhook"},
		{"a spec too large", func(s *core.Spec) { s.Command = []string{"echo", strings.Repeat("x", core.MaxSpecBytes)} }, core.CodeLimit, "into files"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := spec()
			c.change(&s)
			_, err := w.in.Check(t.Context(), s)
			require.Equal(t, c.code, core.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.says)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func TestCheckFillsAndKeeps(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s := spec()
	s.Files = []core.File{file("src/main.go"), file("src/main_test.go"), file("données.txt")}
	s.Stdin = &core.File{Digest: someDigest}
	s.Env = []string{"_A=", "B=c=d"}
	s.Limits.Timeout = time.Second
	got, err := w.in.Check(t.Context(), s)
	require.NoError(t, err)
	require.Len(t, got.ID, 26)
	require.True(t, core.ValidName(got.ID))
	require.Equal(t, 1, got.Generation)
	require.Equal(t, core.PriorityNormal, got.Priority)
	require.Positive(t, got.Submitted)
	want := core.DefaultPool(pool).Limits
	want.Timeout = time.Second
	require.Equal(t, want, got.Limits)
	require.Equal(t, s.Files, got.Files)
}

// memory is a blob store that has one digest.
type memory struct {
	core.Blobs
	has string
	err error
}

func (b memory) Open(_ context.Context, digest string) (io.ReadCloser, error) {
	if b.err != nil {
		return nil, b.err
	}
	if digest != b.has {
		return nil, core.Errorf(core.CodeNotFound, digest, "no blob %s", digest)
	}
	return io.NopCloser(bytes.NewReader(nil)), nil
}

func TestCheckLooksForFiles(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	w.in.Blobs = memory{has: someDigest}
	s := spec()
	s.Files = []core.File{file("a"), file("b")}
	_, err := w.in.Check(t.Context(), s)
	require.NoError(t, err)
	s.Stdin = &core.File{Digest: "sha256:" + strings.Repeat("1", 64)}
	_, err = w.in.Check(t.Context(), s)
	require.Equal(t, core.CodeNotFound, core.CodeOf(err))
	require.ErrorContains(t, err, "stdin")
	w.in.Blobs = memory{err: core.Errorf(core.CodeUnavailable, "", "away")}
	_, err = w.in.Check(t.Context(), s)
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err))
}

// A compatible API that is to tell of an end says whom in the attachment, and is refused while too
// much of what its user is to be told is not taken.
func TestCheckLooksAtCallbacks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	s := spec()
	s.Callback = "compat"
	_, err := w.in.Check(t.Context(), s)
	require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	require.ErrorContains(t, err, "attachment")
	s.Attachment = &core.File{Digest: someDigest}
	for i := range 1000 {
		_, err := w.store.CreateTask(t.Context(), core.Task{
			ID: fmt.Sprint("c", i), Generation: 1, Kind: core.KindCallback, Priority: core.PriorityNormal, Lane: "ann", Created: 1, State: core.TaskQueued,
		})
		require.NoError(t, err)
	}
	_, err = w.in.Check(t.Context(), s)
	require.Equal(t, core.CodeFull, core.CodeOf(err))
	other := s
	other.Submitter = "bob"
	_, err = w.in.Check(t.Context(), other)
	require.NoError(t, err)
	_, err = w.store.EndTask(t.Context(), core.TaskEnd{ID: "c0", Generation: 1, State: core.TaskDead})
	require.NoError(t, err)
	_, err = w.in.Check(t.Context(), s)
	require.NoError(t, err)
}

func TestSubmitTaskChecks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	for name, c := range map[string]struct {
		task core.Task
		code core.Code
	}{
		"no kind":         {core.Task{}, core.CodeInvalid},
		"a bad kind":      {core.Task{Kind: "A b"}, core.CodeInvalid},
		"a bad id":        {core.Task{ID: "A b", Kind: "k"}, core.CodeInvalid},
		"no JSON":         {core.Task{Kind: "k", Args: json.RawMessage("{")}, core.CodeInvalid},
		"much":            {core.Task{Kind: "k", Args: json.RawMessage(`"` + strings.Repeat("x", 70_000) + `"`)}, core.CodeLimit},
		"a long uniquely": {core.Task{Kind: "k", Unique: strings.Repeat("x", 300)}, core.CodeLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := w.in.SubmitTask(t.Context(), c.task)
			require.Equal(t, c.code, core.CodeOf(err), "%v", err)
		})
	}
}

func TestUniqueTaskIsThereOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Real(t))
	task := core.Task{Kind: "purge", Unique: "purge", Args: json.RawMessage("{}")}
	first, created, err := w.in.SubmitTask(t.Context(), task)
	require.NoError(t, err)
	require.True(t, created)
	require.Len(t, first.ID, 26)
	_, created, err = w.in.SubmitTask(t.Context(), task)
	require.NoError(t, err)
	require.False(t, created)
	n, err := w.in.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "it is queued already")
}
