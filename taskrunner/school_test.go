package taskrunner

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/blobs"
	"drover/core/school"
	"drover/core/service/clock"
	"drover/core/store/sqlite"
	"drover/core/store/sqlite/sqlitetest"
	"drover/core/store/storetest"
)

// begun is when a school opens.
var begun = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// testing.T and rapid.T are both of this.
type tester interface {
	require.TestingT
	Helper()
}

// school is users, classes and submissions on real stores.
type campus struct {
	t     tester
	ctx   context.Context
	store *sqlite.Store
	blobs core.Blobs
	clock *clock.Manual
	n     int // submissions
}

func newCampus(t *testing.T) *campus {
	t.Helper()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(t.Context(), "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	return &campus{t: t, ctx: context.Background(), store: store, blobs: blobs, clock: clock.NewManual(begun)}
}

func (s *campus) downloads() downloads {
	return downloads{blobs: s.blobs, clock: s.clock, keep: 24 * time.Hour}
}

// user makes a user who is in a class; role "" is nobody's.
func (s *campus) user(handle, email, class string, role core.UserRole) {
	s.t.Helper()
	if _, err := s.store.GetUser(s.ctx, handle); err != nil {
		_, err := s.store.PutUser(s.ctx, school.User{Handle: handle, Email: email})
		require.NoError(s.t, err)
	}
	if role != "" {
		require.NoError(s.t, s.store.Enrol(s.ctx, school.Enrolment{Class: class, User: handle, Role: role}))
	}
}

func (s *campus) class(handle string, assignments ...string) {
	s.t.Helper()
	_, err := s.store.PutClass(s.ctx, school.Class{Handle: handle, Title: "Class " + handle})
	require.NoError(s.t, err)
	for _, a := range assignments {
		_, err := s.store.PutAssignment(s.ctx, school.Assignment{Class: handle, Handle: a, Title: a, Pool: "default", Priority: core.PriorityNormal})
		require.NoError(s.t, err)
	}
}

// put stores a file.
func (s *campus) put(path, text string) core.File {
	s.t.Helper()
	digest, size, err := s.blobs.Put(s.ctx, strings.NewReader(text), 1<<30)
	require.NoError(s.t, err)
	return core.File{Path: path, Digest: digest, Size: size, Mode: 0o755}
}

// files stores files, given as path and text in turn.
func (s *campus) files(pairs ...string) (all []core.File) {
	s.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, s.put(pairs[i], pairs[i+1]))
	}
	return all
}

// submit submits files, the given time after the school opened.
func (s *campus) submit(name, user string, after time.Duration, files []core.File) school.Submission {
	s.t.Helper()
	s.n++
	class, handle, _ := strings.Cut(name, "/")
	at := begun.Add(after)
	sub := school.Submission{
		ID:    strings.ToLower(ulid.MustNew(ulid.Timestamp(begun)+uint64(s.n), ulid.DefaultEntropy()).String()),
		Class: class, Assignment: handle, User: user, Kind: "public", Files: files, At: at.UnixMilli(),
	}
	sub, made, err := s.store.CreateSubmission(s.ctx, sub, nil)
	require.NoError(s.t, err)
	require.True(s.t, made)
	return sub
}

// request makes a request for a submission.
func (s *campus) request(sub school.Submission, assignment string) core.Spec {
	s.t.Helper()
	spec := storetest.Spec(sub.User)
	spec.ID, spec.Assignment, spec.Submission = strings.ToLower(ulid.Make().String()), assignment, sub.ID
	_, _, err := s.store.Create(s.ctx, spec)
	require.NoError(s.t, err)
	return spec
}

// graded is a submission whose request has ended with a score.
func (s *campus) graded(name, user string, after time.Duration, score float64) school.Submission {
	s.t.Helper()
	sub := s.submit(name, user, after, s.files("a.c", user))
	spec := s.request(sub, name)
	_, err := s.store.Bind(s.ctx, sub.ID, "", spec.ID)
	require.NoError(s.t, err)
	r := storetest.Result(spec, "1.1")
	r.Score = &score
	_, err = s.store.Record(s.ctx, r)
	require.NoError(s.t, err)
	sub.Request = spec.ID
	return sub
}

// run does one try of a kind.
func (s *campus) run(k Kind, args any) (End, error) {
	s.t.Helper()
	return k.Handle(s.ctx, s.job(k, args))
}

func (s *campus) job(k Kind, args any) *Job {
	s.t.Helper()
	text, err := json.Marshal(args)
	require.NoError(s.t, err)
	return &Job{Task: core.Task{ID: "t1", Generation: 1, Kind: k.Name, Args: text}, Attempt: 1}
}

// fetch returns what a task made.
func (s *campus) fetch(d *core.Download) []byte {
	s.t.Helper()
	r, err := s.blobs.Open(s.ctx, d.Digest)
	require.NoError(s.t, err)
	text, err := io.ReadAll(r)
	require.NoError(s.t, err)
	require.NoError(s.t, r.Close())
	require.Len(s.t, text, int(d.Size))
	return text
}

// unzip returns the files of a zip.
func unzip(t tester, archive []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NotContains(t, files, f.Name, "twice")
		files[f.Name] = string(text)
	}
	return files
}

// kept counts the files of a blob store.
func kept(t tester, blobs core.Blobs) (n int) {
	t.Helper()
	require.NoError(t, blobs.Each(context.Background(), func(string, int64, int64) error {
		n++
		return nil
	}))
	return n
}
