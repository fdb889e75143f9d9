package client_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"drover/core"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/requests/intake"
	"drover/core/school"
	"drover/core/store/sqlite/sqlitetest"
	"drover/web/api"
	"drover/web/caller"
	"drover/web/client"
	"drover/web/services"
	"drover/web/transfer"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// school is a real API on a real store and Redis: tess teaches cs101, ann and bob learn there.
type campus struct {
	t   *testing.T
	reg *classes.Service
	in  *intake.Intake
	url string
}

func newCampus(t *testing.T) *campus {
	t.Helper()
	ctx := t.Context()
	store := sqlitetest.Open(t)
	blobs, err := blobs.Open(ctx, "mem://")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	cluster := coretest.NewCluster(t, coretest.Mini(t).Open(t), "h1", "default")
	s := &campus{t: t, in: &intake.Intake{Store: store, Queue: cluster.Store, Pools: cluster.Store, Tasks: cluster.Store, Blobs: blobs}}
	require.NoError(t, s.in.SetPool(ctx, core.DefaultPool("default")))
	s.reg = &classes.Service{Store: store, Intake: s.in, Blobs: blobs}
	root := core.System()
	now := time.Now()
	_, err = s.reg.CreateClass(ctx, root, school.Class{Handle: "cs101", Title: "Programming I"})
	require.NoError(t, err)
	for user, role := range map[string]core.UserRole{"tess": core.RoleTeacher, "ann": core.RoleStudent, "bob": core.RoleStudent} {
		_, err = s.reg.CreateUser(ctx, root, school.User{Handle: user, Name: user, Email: user + "@example.org"})
		require.NoError(t, err)
		require.NoError(t, s.reg.Enrol(ctx, root, "cs101", user, role))
	}
	for _, handle := range []string{"hw1", "hw2"} {
		_, err = s.reg.CreateAssignment(ctx, root, school.Assignment{
			Class: "cs101", Handle: handle, Title: "The " + handle, Pool: "default", Due: now.Add(time.Hour).UnixMilli(), Cutoff: now.Add(time.Hour).UnixMilli(),
		})
		require.NoError(t, err)
	}
	behind := api.New(services.Deps{Name: "school", Classes: s.reg, Repositories: &transfer.Repositories{Hosts: []string{"github.com"}}})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer dro_"); ok {
			a, err := s.reg.Actor(r.Context(), user)
			assert.NoError(t, err)
			r = r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: a, Token: "t1", Scopes: school.Scopes()}))
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *campus) as(user string) *client.Client {
	s.t.Helper()
	token := ""
	if user != "" {
		token = "dro_" + user
	}
	c, err := client.New(client.Options{Server: s.url, Token: token, Timeout: -1})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, c.Close()) })
	return c
}

func TestClassesOfASite(t *testing.T) {
	t.Parallel()
	s := newCampus(t)
	ctx, ann, tess := t.Context(), s.as("ann"), s.as("tess")
	who, err := ann.Who(ctx)
	require.NoError(t, err)
	assert.Equal(t, core.Actor{Handle: "ann", In: map[string]core.UserRole{"cs101": core.RoleStudent}}, who)

	class, err := ann.FindClass(ctx, "mine")
	require.NoError(t, err)
	assert.Equal(t, "Programming I", class.Title)
	mine, err := ann.ListClasses(ctx, "", 1000)
	require.NoError(t, err)
	require.Len(t, mine, 1)
	assert.Equal(t, core.RoleStudent, mine[0].Role)
	entry, err := ann.ViewClass(ctx, "cs101")
	require.NoError(t, err)
	assert.Equal(t, mine[0], entry)
	members, err := tess.Roster(ctx, "cs101", "ann", 1)
	require.NoError(t, err)
	require.Len(t, members, 1)
	assert.Equal(t, "bob", members[0].User)

	as, err := ann.FindAssignment(ctx, "mine/hw1")
	require.NoError(t, err)
	assert.Equal(t, "cs101/hw1", as.Name())
	all, left, err := ann.ListAssignments(ctx, classes.AssignmentFilter{Class: "cs101", All: true})
	require.NoError(t, err)
	assert.Len(t, all, 2)
	assert.Zero(t, left)
	one, err := ann.ViewAssignment(ctx, "cs101", "hw1")
	require.NoError(t, err)
	assert.Equal(t, classes.ProgressNotYet, one.Progress)
	deadlines, err := tess.Deadlines(ctx, "cs101", "hw1", "")
	require.NoError(t, err)
	assert.Empty(t, deadlines)
}

// What a site refuses it refuses in the words of the classes service.
func TestRefusalsAreTheRegistrars(t *testing.T) {
	t.Parallel()
	s := newCampus(t)
	ctx, ann := t.Context(), s.as("ann")
	a, err := s.reg.Actor(ctx, "ann")
	require.NoError(t, err)
	late := newSubmission(twoFiles)
	late.Assignment = "none"
	for name, both := range map[string]func() (here, there error){
		"class": func() (error, error) {
			return second(s.reg.FindClass(ctx, a, "no such")), second(ann.FindClass(ctx, "no such"))
		},
		"several": func() (error, error) {
			return second(s.reg.FindAssignment(ctx, a, "cs101/hw")), second(ann.FindAssignment(ctx, "cs101/hw"))
		},
		"wrong": func() (error, error) {
			return second(s.reg.FindAssignment(ctx, a, "hw")), second(ann.FindAssignment(ctx, "hw"))
		},
		"roster": func() (error, error) {
			return second(s.reg.Roster(ctx, a, "cs101", "", 5)), second(ann.Roster(ctx, "cs101", "", 5))
		},
		"submission": func() (error, error) {
			return second(s.reg.ViewSubmission(ctx, a, "x")), second(ann.ViewSubmission(ctx, "x"))
		},
		"task": func() (error, error) { return second(s.reg.TrackTask(ctx, a, "x")), second(ann.TrackTask(ctx, "x")) },
		"git": func() (error, error) {
			const address = "https://example.org/ann/hw1"
			from := (&transfer.Repositories{Hosts: []string{"github.com"}}).Submission(ctx, newSubmission(nil), address, "")
			return second(s.reg.Submit(ctx, a, from)), second(ann.SubmitGit(ctx, newSubmission(nil), address, ""))
		},
		"submit": func() (error, error) { return second(s.reg.Submit(ctx, a, late)), second(ann.Submit(ctx, late)) },
		"gradebook": func() (error, error) {
			args := []byte(`{"class":"cs101"}`)
			return second(s.reg.StartTask(ctx, a, school.KindGradebook, args)), second(ann.StartTask(ctx, school.KindGradebook, args))
		},
	} {
		here, there := both()
		require.Error(t, here, name)
		require.Error(t, there, name)
		assert.Equal(t, here.Error(), there.Error(), name)
		assert.Equal(t, core.CodeOf(here), core.CodeOf(there), name)
	}
	_, err = s.as("").Me(ctx)
	requireCode(t, core.CodeForbidden, err)
	assert.True(t, client.SignedOut(err))
}

func second[T any](_ T, err error) error { return err }

func TestSubmissionsOfASite(t *testing.T) {
	t.Parallel()
	s := newCampus(t)
	ctx, ann, tess := t.Context(), s.as("ann"), s.as("tess")
	h := newSubmission(twoFiles)
	h.User, h.Kind, h.Idempotency = "", "public", "key-1"
	sub, err := ann.Submit(ctx, h)
	require.NoError(t, err)
	assert.Equal(t, []string{"ann", "src/main.py", "größe \"x\".txt"}, []string{sub.User, sub.Files[0].Path, sub.Files[1].Path})
	assert.EqualValues(t, 0o755, sub.Files[0].Mode)
	again, err := ann.Submit(ctx, h)
	require.NoError(t, err)
	assert.Equal(t, sub.ID, again.ID, "the same key is the same submission")

	all, err := tess.ListSubmissions(ctx, school.SubmissionFilter{Class: "cs101", Limit: 10})
	require.NoError(t, err)
	require.Len(t, all, 1)
	v, err := ann.ViewSubmission(ctx, sub.ID)
	require.NoError(t, err)
	assert.Equal(t, all[0].Submission.ID, v.Submission.ID)
	for _, f := range sub.Files {
		_, content, err := ann.OpenFile(ctx, sub.ID, f.Path)
		require.NoError(t, err, f.Path)
		raw, err := io.ReadAll(content)
		require.NoError(t, err)
		require.NoError(t, content.Close())
		assert.Len(t, raw, int(f.Size))
	}
	var out bytes.Buffer
	require.NoError(t, ann.WriteZip(ctx, sub.ID, &out))
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	require.NoError(t, err)
	assert.Len(t, z.File, 2)

	nine := 9.0
	grade := classes.GradeChange{Class: "cs101", Assignment: "hw1", User: "ann", Score: &nine, Reason: "by hand"}
	standing, err := tess.ChangeGrade(ctx, grade)
	require.NoError(t, err)
	assert.Equal(t, &nine, standing.Score)
	grade.Submission, grade.User = sub.ID, "bob"
	_, err = tess.ChangeGrade(ctx, grade)
	requireCode(t, core.CodeNotFound, err)
	grade.User, grade.Score = "ann", nil
	standing, err = tess.ChangeGrade(ctx, grade)
	require.NoError(t, err)
	assert.Nil(t, standing.Score)
	p, err := tess.Progress(ctx, "cs101", "hw1")
	require.NoError(t, err)
	assert.Equal(t, 1, p.Submitted)
}

func TestTasksOfASite(t *testing.T) {
	t.Parallel()
	s := newCampus(t)
	ctx, tess := t.Context(), s.as("tess")
	ids := map[string]string{}
	for kind, args := range map[string]string{
		school.KindArchive: `{"class":"cs101","assignment":"hw1","latest":true}`, school.KindAssignmentCSV: `{"class":"cs101","assignment":"hw1"}`,
		school.KindGradebook: `{"class":"cs101","fill":"5"}`,
	} {
		task, err := tess.StartTask(ctx, kind, []byte(args))
		require.NoError(t, err)
		assert.Equal(t, kind, task.Kind)
		assert.JSONEq(t, args, string(task.Args))
		ids[kind] = task.ID
	}

	v, err := tess.TrackTask(ctx, ids[school.KindGradebook])
	require.NoError(t, err)
	require.NotNil(t, v.Place)
	assert.Equal(t, core.TaskQueued, v.Place.State)
	_, _, err = tess.OpenDownload(ctx, ids[school.KindGradebook])
	requireCode(t, core.CodeConflict, err)
	state, err := tess.CancelTask(ctx, ids[school.KindArchive])
	require.NoError(t, err)
	assert.Equal(t, core.TaskCancelled, state)
	open, err := tess.TrackTasks(ctx, core.TaskFilter{Limit: 1000, Requester: "tess", States: []core.TaskState{core.TaskQueued, core.TaskRunning}})
	require.NoError(t, err)
	assert.Len(t, open, 2)
	retried, err := tess.RetryTask(ctx, ids[school.KindArchive])
	require.NoError(t, err)
	assert.Equal(t, 2, retried.Generation)

	digest, size, err := s.reg.Blobs.Put(ctx, strings.NewReader("a,b\n"), 100)
	require.NoError(t, err)
	made := core.Download{Name: "cs101.csv", Type: "text/csv", Digest: digest, Size: size, Expires: time.Now().Add(time.Hour).UnixMilli()}
	ended, err := s.in.Store.EndTask(ctx, core.TaskEnd{ID: ids[school.KindGradebook], Generation: 1, State: core.TaskDone, Download: &made})
	require.NoError(t, err)
	require.True(t, ended)
	d, content, err := tess.OpenDownload(ctx, ids[school.KindGradebook])
	require.NoError(t, err)
	raw, err := io.ReadAll(content)
	require.NoError(t, err)
	require.NoError(t, content.Close())
	assert.Equal(t, made, d)
	assert.Equal(t, "a,b\n", string(raw))
	_, _, err = s.as("ann").OpenDownload(ctx, ids[school.KindGradebook])
	requireCode(t, core.CodeNotFound, err)
}
