package taskrunner

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/service/clock"
)

func (s *campus) archive() *Archive { return &Archive{Store: s.store, downloads: s.downloads()} }

// newClass is a class with students ann and bob, one who left, and a teacher.
func newClass(t *testing.T) *campus {
	t.Helper()
	s := newCampus(t)
	s.class("cs", "hw1", "hw2")
	s.user("ann", "", "cs", core.RoleStudent)
	s.user("bob", "bob@example.org", "cs", core.RoleStudent)
	s.user("tea", "tea@example.org", "cs", core.RoleTeacher)
	s.user("tom", "", "cs", core.RoleAssistant)
	s.user("zoe", "", "", "")
	return s
}

func TestArchive(t *testing.T) { // W18
	t.Parallel()
	s := newClass(t)
	s.submit("cs/hw1", "ann", time.Second, s.files("main.c", "one", "lib/x.h", "x"))
	s.submit("cs/hw1", "ann", time.Minute, s.files("main.c", "two"))
	s.submit("cs/hw1", "ann", time.Minute, s.files("main.c", "three"))
	s.submit("cs/hw1", "bob", time.Hour, s.files("main.c", "bob's"))
	s.submit("cs/hw1", "tea", time.Hour, s.files("main.c", "the solution"))
	s.submit("cs/hw1", "tom", time.Hour, s.files("main.c", "the solution"))
	s.submit("cs/hw1", "zoe", time.Hour, nil)
	s.submit("cs/hw2", "ann", time.Hour, s.files("main.c", "another"))
	all := map[string]string{
		"ann/2026-10-01-12-00-01/main.c": "one", "ann/2026-10-01-12-00-01/lib/x.h": "x",
		"ann/2026-10-01-12-01-00/main.c": "three", "ann/2026-10-01-12-01-00-2/main.c": "two",
		"bob/2026-10-01-13-00-00/main.c": "bob's", "zoe/2026-10-01-13-00-00/": "",
	}
	for name, tc := range map[string]struct {
		args school.ArchiveArgs
		note string
		want map[string]string
	}{
		"all":             {school.ArchiveArgs{}, "5 submissions of 3 users, 5 files", all},
		"latest":          {school.ArchiveArgs{Latest: true}, "3 submissions of 3 users, 2 files", map[string]string{"ann/2026-10-01-12-01-00/main.c": "three", "bob/2026-10-01-13-00-00/main.c": "bob's", "zoe/2026-10-01-13-00-00/": ""}},
		"one":             {school.ArchiveArgs{User: "bob"}, "1 submissions of 1 users, 1 files", map[string]string{"bob/2026-10-01-13-00-00/main.c": "bob's"}},
		"newest of one":   {school.ArchiveArgs{User: "ann", Latest: true}, "1 submissions of 1 users, 1 files", map[string]string{"ann/2026-10-01-12-01-00/main.c": "three"}},
		"one who teaches": {school.ArchiveArgs{User: "tea"}, "1 submissions of 1 users, 1 files", map[string]string{"tea/2026-10-01-13-00-00/main.c": "the solution"}},
		"one without any": {school.ArchiveArgs{User: "nobody"}, "0 submissions of 0 users, 0 files", map[string]string{}},
	} {
		tc.args.Class, tc.args.Assignment = "cs", "hw1"
		end, err := s.run(s.archive().Kind(), tc.args)
		require.NoError(t, err, name)
		require.Equal(t, tc.note, end.Note, name)
		require.Equal(t, "submissions.zip", end.Download.Name)
		require.Equal(t, "application/zip", end.Download.Type)
		require.Equal(t, begun.Add(24*time.Hour).UnixMilli(), end.Download.Expires)
		got := unzip(t, s.fetch(end.Download))
		if tc.args.User == "" {
			require.Equal(t, "Username,Handle,Name,Folder\nann,ann,,ann\nbob@example.org,bob,,bob\nzoe,zoe,,zoe\n", got[indexFile], name)
			delete(got, indexFile)
		}
		require.Equal(t, tc.want, got, name)
	}
}

// Dolos and MOSS take what counts of each student, one folder each; with pseudonyms nothing names a student.
func TestArchivesForSimilarity(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	s.submit("cs/hw1", "ann", time.Second, s.files("main.c", "old"))
	s.submit("cs/hw1", "ann", time.Minute, s.files("main.c", "three", "lib/x.h", "x"))
	s.submit("cs/hw1", "bob", time.Hour, s.files("main.c", "bob's"))
	s.submit("cs/hw1", "tea", time.Hour, s.files("main.c", "the solution"))
	made := func(args school.ArchiveArgs) map[string]string {
		args.Class, args.Assignment = "cs", "hw1"
		end, err := s.run(s.archive().Kind(), args)
		require.NoError(t, err)
		return unzip(t, s.fetch(end.Download))
	}
	require.Equal(t, map[string]string{"ann/main.c": "three", "ann/lib/x.h": "x", "bob/main.c": "bob's"}, made(school.ArchiveArgs{For: school.ForMoss}))
	got := made(school.ArchiveArgs{For: school.ForDolos})
	require.Len(t, got, 4)
	require.Regexp(t, `^filename,full_name,id,status,submission_id,created_at,labels\nann/main.c,ann,(\w+),submitted,\w+,2026-10-01 12:01:00 \+0000,ann\nann/lib/x.h,ann,.*\nbob/main.c,bob,`, got[infoFile])
	secret := made(school.ArchiveArgs{For: school.ForDolos, Pseudonyms: true})
	require.Len(t, secret, 4)
	for name, content := range secret {
		require.NotRegexp(t, `ann|bob/|bob,|01[a-z0-9]{24}`, name+content)
		require.Regexp(t, `^(s-[0-9a-f]{12}/|info.csv$)`, name)
	}
	for _, args := range []school.ArchiveArgs{{For: school.ForMoss, User: "ann"}, {Pseudonyms: true}} {
		args.Class, args.Assignment = "cs", "hw1"
		_, err := s.run(s.archive().Kind(), args)
		require.Equal(t, core.CodeInvalid, core.CodeOf(err))
	}
	k, err := school.TaskKinds().Find(school.KindArchive)
	require.NoError(t, err)
	_, err = k.Read([]byte(`{"class":"cs","assignment":"hw1","for":"jplag"}`))
	require.ErrorContains(t, err, "for must be dolos or moss")
}

func TestAnArchiveIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	for i := range 30 {
		s.submit("cs/hw1", []string{"ann", "bob", "zoe"}[i%3], time.Duration(i)*time.Minute, s.files("main.c", fmt.Sprint(i)))
	}
	args := school.ArchiveArgs{Class: "cs", Assignment: "hw1"}
	first, err := s.run(s.archive().Kind(), args)
	require.NoError(t, err)
	second, err := s.run(s.archive().Kind(), args)
	require.NoError(t, err)
	require.Equal(t, first.Download.Digest, second.Download.Digest)
	z, err := zip.NewReader(bytes.NewReader(s.fetch(first.Download)), first.Download.Size)
	require.NoError(t, err)
	require.Len(t, z.File, 31)
	for _, f := range z.File {
		require.EqualValues(t, 0o644, f.Mode())
	}
	require.True(t, begun.Add(27*time.Minute).Equal(z.File[0].Modified), "newest first")
}

// Users are called as they please, but no folder is called what a system takes for a device.
func TestAUserCalledAsADevice(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	s.user("con", "", "cs", core.RoleStudent)
	s.submit("cs/hw1", "con", 0, s.files("main.c", "one"))
	end, err := s.run(s.archive().Kind(), school.ArchiveArgs{Class: "cs", Assignment: "hw1"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"_con/2026-10-01-12-00-00/main.c": "one", indexFile: "Username,Handle,Name,Folder\ncon,con,,_con\n"}, unzip(t, s.fetch(end.Download)))
}

func TestLostFilesLeaveAMark(t *testing.T) { // W18
	t.Parallel()
	s := newClass(t)
	files := s.files("main.c", "fine")
	lost := files[0]
	lost.Path, lost.Digest = "gone.c", digest(7)
	torn := s.put("torn.c", "as it was")
	taken := s.put("gone.c.lost", "the student's own")
	s.submit("cs/hw1", "ann", 0, append(files, lost, torn, taken))
	a := s.archive()
	a.blobs = tearing{s.blobs, torn.Digest}
	end, err := s.run(a.Kind(), school.ArchiveArgs{Class: "cs", Assignment: "hw1"})
	require.NoError(t, err)
	require.Equal(t, "1 submissions of 1 users, 2 files; 2 files are lost: empty ones whose names end in .lost stand for them", end.Note)
	const dir = "ann/2026-10-01-12-00-00/"
	require.Equal(t, map[string]string{
		dir + "main.c": "fine", dir + "gone.c.lost": "", dir + "gone.c-2.lost": "the student's own", dir + "torn.c": "as it", dir + "torn.c.lost": "",
		indexFile: "Username,Handle,Name,Folder\nann,ann,,ann\n",
	}, unzip(t, s.fetch(end.Download)))
}

// tearing is a blob store that has a damaged file.
type tearing struct {
	core.Blobs
	digest string
}

// Open implements core.Blobs.
func (b tearing) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	if digest != b.digest {
		return b.Blobs.Open(ctx, digest)
	}
	damage := core.Wrap(core.ErrDamaged, core.CodeUnavailable, digest, "damaged")
	return io.NopCloser(io.MultiReader(strings.NewReader("as it"), broken{damage})), nil
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func TestAnArchiveOfNothingThatIsThere(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	for _, args := range []school.ArchiveArgs{{Class: "cs", Assignment: "no"}, {Class: "no", Assignment: "hw1"}} {
		_, err := s.run(s.archive().Kind(), args)
		require.True(t, core.Is(err, core.CodeNotFound), err)
	}
	a, err := s.store.GetAssignment(s.ctx, "cs", "hw1")
	require.NoError(t, err)
	a.Deleting = true
	_, err = s.store.PutAssignment(s.ctx, a)
	require.NoError(t, err)
	_, err = s.run(s.archive().Kind(), school.ArchiveArgs{Class: "cs", Assignment: "hw1"})
	require.True(t, core.Is(err, core.CodeNotFound), err)
	require.Zero(t, kept(t, s.blobs))
}

func TestTooMuchForAnArchive(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	for i := range 3 {
		s.submit("cs/hw1", "ann", time.Duration(i)*time.Minute, s.files("a", "12345", "b", "67890"))
	}
	n := kept(t, s.blobs)
	for _, tc := range []struct {
		files int
		bytes int64
		fine  bool
	}{{6, 30, true}, {5, 30, false}, {6, 29, false}} {
		a := s.archive()
		a.mostFiles, a.mostBytes = tc.files, tc.bytes
		_, err := s.run(a.Kind(), school.ArchiveArgs{Class: "cs", Assignment: "hw1"})
		if tc.fine {
			require.NoError(t, err)
			n++
			continue
		}
		require.True(t, core.Is(err, core.CodeLimit), err)
		require.ErrorContains(t, err, "ask for the newest of each user, or for one user")
		require.Equal(t, n, kept(t, s.blobs), "nothing is left")
	}
}

// Cancelled at any file, and failing at any call of the store, an archive leaves
// nothing in the blob store; the next try makes it.
func TestAnArchiveThatIsCutShortLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	for i := range 6 {
		s.submit("cs/hw1", []string{"ann", "bob"}[i%2], time.Duration(i)*time.Minute, s.files("main.c", fmt.Sprint(i, strings.Repeat("x", 100_000))))
	}
	n := kept(t, s.blobs)
	args := school.ArchiveArgs{Class: "cs", Assignment: "hw1"}
	for at := range 6 {
		a := s.archive()
		ctx, cancel := context.WithCancelCause(s.ctx)
		a.blobs = opening{s.blobs, func(i int) error {
			if i == at {
				cancel(cancelled("ann"))
			}
			return ctx.Err()
		}, new(int)}
		k := a.Kind()
		_, err := k.Handle(ctx, s.job(k, args))
		require.Error(t, err)
		require.False(t, core.Is(err, core.CodeInvalid), "trying again helps: %v", err)
		require.Equal(t, n, kept(t, s.blobs), "file %d", at)
		cancel(nil)

		down := core.Errorf(core.CodeUnavailable, "", "down")
		a.blobs = opening{s.blobs, func(i int) error {
			if i == at {
				return down
			}
			return nil
		}, new(int)}
		_, err = s.run(a.Kind(), args)
		require.ErrorIs(t, err, down)
		require.Equal(t, n, kept(t, s.blobs), "file %d", at)
	}
	_, err := s.run(s.archive().Kind(), args)
	require.NoError(t, err)
	require.Equal(t, n+1, kept(t, s.blobs))
}

// opening is a blob store that looks before each opening.
type opening struct {
	core.Blobs
	look func(i int) error
	n    *int
}

// Open implements core.Blobs.
func (b opening) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	*b.n++
	if err := b.look(*b.n - 1); err != nil {
		return nil, err
	}
	return b.Blobs.Open(ctx, digest)
}

// A blob store that does not take the archive is the error that is told, not the
// pipe that broke by it.
func TestABlobStoreThatDoesNotTakeTheArchive(t *testing.T) {
	t.Parallel()
	s := newClass(t)
	s.submit("cs/hw1", "ann", 0, s.files("main.c", strings.Repeat("x", 1000)))
	a := s.archive()
	a.blobs = refusing{s.blobs}
	_, err := s.run(a.Kind(), school.ArchiveArgs{Class: "cs", Assignment: "hw1"})
	require.EqualError(t, err, "the disk is full")
}

type refusing struct{ core.Blobs }

// Put implements core.Blobs.
func (refusing) Put(context.Context, io.Reader, int64) (string, int64, error) {
	return "", 0, core.Errorf(core.CodeUnavailable, "", "the disk is full")
}

// crowd is a class of any size that takes no memory, and its blobs.
type crowd struct {
	school.Roster
	school.Assignments
	school.Submissions
	users, each, size int
	look              func()
}

func (c crowd) GetAssignment(context.Context, string, string) (school.Assignment, error) {
	return school.Assignment{Class: "cs", Handle: "hw1"}, nil
}

func (c crowd) GetUser(_ context.Context, handle string) (school.User, error) {
	return school.User{Handle: handle}, nil
}

func (c crowd) Members(context.Context, string, string, int) ([]school.Enrolment, error) {
	return nil, nil
}

func (c crowd) standing(user, n int) school.Standing {
	sub := school.Submission{ID: fmt.Sprintf("%06d-%06d", user, n), User: fmt.Sprintf("user%06d", user), At: int64(1000 * n)}
	sub.Files = []core.File{{Path: "main.c", Digest: digest(user), Size: int64(c.size)}}
	return school.Standing{Submission: sub}
}

func (c crowd) Standings(_ context.Context, _, _, after string, limit int) (page []school.Standing, err error) {
	for i := range c.users {
		if s := c.standing(i, c.each-1); s.Submission.User > after && len(page) < limit {
			page = append(page, s)
		}
	}
	return page, nil
}

func (c crowd) ListSubmissions(_ context.Context, f school.SubmissionFilter) (page []school.Standing, err error) {
	user := 0
	_, _ = fmt.Sscanf(f.User, "user%d", &user)
	for n := c.each - 1; n >= 0 && len(page) < f.Limit; n-- {
		if s := c.standing(user, n); f.Before == "" || s.Submission.ID < f.Before {
			page = append(page, s)
		}
	}
	return page, nil
}

// streets is the crowd's blob store. What it opens does not compress.
type streets struct {
	core.Blobs
	crowd
	noise  noise
	opened *int
	size   *int64
}

func (b streets) Open(context.Context, string) (io.ReadCloser, error) {
	if *b.opened++; *b.opened%100 == 0 {
		b.look()
	}
	return io.NopCloser(io.LimitReader(b.noise, int64(b.crowd.size))), nil
}

// noise is read over and over.
type noise []byte

func (n noise) Read(p []byte) (int, error) { return copy(p, n), nil }

func (b streets) Put(_ context.Context, r io.Reader, _ int64) (string, int64, error) {
	n, err := io.Copy(io.Discard, r)
	*b.size = n
	return digest(1), n, err
}

// The heap is looked at from within, after a collection, so the bound is on what the
// archive holds, whatever the collector's mood.
//
//nolint:paralleltest // it measures the process's memory
func TestAnArchiveOfManyFilesTakesLittleMemory(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := heap(), uint64(0)
	text := make(noise, 16<<10)
	_, err := rand.Read(text)
	require.NoError(t, err)
	// Of each user more than one page of submissions.
	c := crowd{users: 10, each: submissionsAtOnce + 1, size: len(text), look: func() { most = max(most, heap()) }}
	var opened int
	var size int64
	a := Archive{Store: c, downloads: downloads{blobs: streets{crowd: c, noise: text, opened: &opened, size: &size}, clock: clock.Real{}}}
	end, err := (&campus{t: t, ctx: t.Context()}).run(a.Kind(), school.ArchiveArgs{Class: "cs", Assignment: "hw1"})
	require.NoError(t, err)
	require.Equal(t, "1010 submissions of 10 users, 1010 files", end.Note)
	require.Equal(t, 1010, opened)
	require.Less(t, int64(most)-int64(before), int64(3<<20), "of %d MiB in", opened*c.size>>20)
}
