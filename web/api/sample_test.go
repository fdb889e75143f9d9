package api_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/cluster/join"
	"drover/core/coretest"
	"drover/core/harness"
	"drover/core/school"
)

// sample is a call that stands for an operation. It is made by everybody in turn, so
// prepare makes what one such call uses up.
type sample struct {
	prepare func(w *fixture, n int) string         // its answer is the id
	path    string                                 // "" is the operation's, with names filled in; {id} is the id
	body    func(id string) any                    // JSON
	raw     func(t *testing.T) (kind, body string) // anything else
	made    bool                                   // creates something, or has no class: a caller without the right gets 403, not 404
	rule    func(a core.Actor) error               // instead of the row of the action
	blind   string                                 // who may not even know of the thing
}

func once(prepare func(w *fixture, n int) string) func(w *fixture, n int) string {
	var ids sync.Map // by fixture, since operations share samples
	return func(w *fixture, n int) string {
		if n == 0 {
			ids.Store(w, prepare(w, n))
		}
		id, _ := ids.Load(w)
		return id.(string) //nolint:forcetypeassert // nothing else is stored
	}
}

func homework(w *fixture, n int) string { return w.assignment(fmt.Sprintf("hw%d", n)).Handle }

func reopened(w *fixture, n int) string {
	c, err := w.reg.Store.GetClass(w.t.Context(), "cs101")
	require.NoError(w.t, err)
	if c.Deleting {
		c.Deleting = false
		_, err = w.reg.Store.PutClass(w.t.Context(), c)
		require.NoError(w.t, err)
	}
	return fmt.Sprintf("hw%d", n)
}

func harnessDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.ConfigFile), []byte(`{"drover/timeout":5}`), 0o644))
	shown := filepath.Join(dir, "handout", "attachments")
	require.NoError(t, os.MkdirAll(shown, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(shown, "main.py"), []byte("pass\n"), 0o600))
	return dir
}

func harnessTar(t testing.TB) string {
	t.Helper()
	p, err := harness.Pack(harnessDir(t))
	require.NoError(t, err)
	tar, err := io.ReadAll(p.Tar())
	require.NoError(t, err)
	return string(tar)
}

func tar(t *testing.T) (kind, body string) { return "application/x-tar", harnessTar(t) }

func aForm(*testing.T) (kind, body string) {
	kind, raw := form("main.py", "print()")
	return kind, raw.String()
}

func (w *fixture) graded(handle string) string {
	w.t.Helper()
	w.assignment(handle)
	_, err := w.reg.SetHarness(w.t.Context(), w.as("tess").Actor, "cs101", handle, strings.NewReader(harnessTar(w.t)))
	require.NoError(w.t, err)
	return handle
}

// explained is hw1 with something for students in its harness.
func explained(w *fixture, _ int) string { return w.graded("hw1") }

// repository is the address of one that the site fetches.
func repository(w *fixture, n int) string {
	w.t.Helper()
	if n == 0 {
		w.assignment("hw1")
		w.forge().Commit(map[string]string{"main.py": "print()"})
	}
	return "https://" + w.from.Hosts[0] + ":" + w.from.Port + "/hw1"
}

// submitted submits something for ann, and withdraws what waited before.
func submitted(w *fixture, n int) string {
	if n == 0 {
		w.graded("hw1")
	}
	var s school.Submission
	w.upload("ann", hw1+"/submissions", "main.py", "print()").is(http.StatusCreated).into(&s)
	return s.ID
}

// commented has a comment that its student sees on a submission of ann's.
func commented(w *fixture, n int) string {
	w.t.Helper()
	var c school.Comment
	at := "/submissions/" + submitted(w, n)
	w.call("tess", "POST", at+"/comments", object{"text": "Why?"}).is(http.StatusCreated).into(&c)
	w.call("tess", "POST", at+"/comments/release", nil).is(http.StatusOK)
	return c.ID
}

// stopped is a submission whose tests were stopped.
func stopped(w *fixture, n int) string {
	id := submitted(w, n)
	w.call("ann", "POST", "/submissions/"+id+"/cancel", nil).is(http.StatusAccepted)
	return id
}

func aRequest(*testing.T) (kind, body string) {
	kind, raw := requestForm(`{"pool": "p1", "command": ["true"]}`, "file", "main.py", "print()")
	return kind, raw.String()
}

// requested is a request of ann's.
func requested(w *fixture, _ int) string {
	row, _, err := w.in.Submit(w.t.Context(), core.Spec{Pool: pool, Submitter: "ann", Command: []string{"true"}})
	require.NoError(w.t, err)
	return row.Spec.ID
}

func aBatch(*testing.T) (kind, body string) {
	kind, raw := formOf("batch", `{"pool": "p1", "command": ["true"], "jobs": [{}, {"stdin": "2"}]}`, "file", "main.py", "print()")
	return kind, raw.String()
}

// aWaitingBatch is a batch of ann's.
func aWaitingBatch(w *fixture, _ int) string {
	b, _, err := w.in.SubmitBatch(w.t.Context(), core.Batch{Submitter: "ann", Specs: []core.Spec{{Pool: pool, Submitter: "ann", Command: []string{"true"}}}})
	require.NoError(w.t, err)
	return b.ID
}

func aCancelledBatch(w *fixture, n int) string {
	id := aWaitingBatch(w, n)
	_, err := w.in.CancelBatch(w.t.Context(), id, "ann")
	require.NoError(w.t, err)
	return id
}

func jobType(w *fixture, n int) string {
	t := core.JobType{Name: fmt.Sprintf("type-%d", n), Pool: pool, Priority: core.PriorityNormal}
	require.NoError(w.t, w.in.Store.(core.JobTypes).PutJobType(w.t.Context(), t))
	return t.Name
}

// ofTypes is the rule of job types: they are for those who make requests or look at the cluster.
func ofTypes(a core.Actor) error {
	if core.Allow(a, core.ActClusterView, core.Object{}) == nil {
		return nil
	}
	return core.Allow(a, core.ActRequestCreate, core.Object{})
}

// ended is a request of ann's that left main.py.
func ended(w *fixture, n int) string {
	digest, size, err := w.reg.Blobs.Put(w.t.Context(), strings.NewReader("print()"), 100)
	require.NoError(w.t, err)
	return w.recorded(requested(w, n), core.Result{State: core.RequestCompleted, Files: []core.File{{Path: "main.py", Digest: digest, Size: size}}})
}

// endedOf is one of the user whose turn it is.
func endedOf(w *fixture, n int) string {
	who, _ := rights(w.t)
	row, _, err := w.in.Submit(w.t.Context(), core.Spec{Pool: pool, Submitter: w.as(who[n]).Actor.Handle, Command: []string{"true"}})
	require.NoError(w.t, err)
	return w.recorded(row.Spec.ID, core.Result{State: core.RequestCompleted})
}

// replayed is a replay of a request of ann's.
func replayed(w *fixture, n int) string {
	row, err := w.in.Store.Get(w.t.Context(), ended(w, n))
	require.NoError(w.t, err)
	row, _, err = w.in.Submit(w.t.Context(), row.Spec.Replay("ann"))
	require.NoError(w.t, err)
	return w.recorded(row.Spec.ID, core.Result{State: core.RequestCompleted})
}

// dead is a request of ann's that the platform failed.
func dead(w *fixture, n int) string {
	return w.recorded(requested(w, n), core.Result{State: core.RequestDead, Blame: core.BlamePlatform, Reason: "its host was lost"})
}

// recorded gives a request its result.
func (w *fixture) recorded(id string, r core.Result) string {
	w.t.Helper()
	r.ID, r.Generation, r.Pool = id, 1, pool
	_, err := w.in.Store.Record(w.t.Context(), r)
	require.NoError(w.t, err)
	return id
}

// gone is a host that is down and runs nothing of drover.
func gone(w *fixture, n int) string {
	h, ctx := coretest.NewCluster(w.t, w.cluster.Store, fmt.Sprintf("gone-%d", n), pool), w.t.Context()
	require.NoError(w.t, coretest.ErrOf(h.Store.Report(ctx, core.HostReport{Host: h.Host, Event: core.HostFailed, By: "me"})))
	for owner, epoch := range map[string]int64{h.Runner: h.Epoch, h.Factory: h.Made} {
		next, err := h.Store.DeclareDead(ctx, owner, epoch)
		require.NoError(w.t, err)
		require.NoError(w.t, h.Store.Forget(ctx, owner, next))
	}
	return h.Host
}

func anotherUser(w *fixture, n int) string {
	handle := fmt.Sprintf("new-%d", n)
	_, err := w.reg.Store.PutUser(w.t.Context(), school.User{Handle: handle, Created: start})
	require.NoError(w.t, err)
	return handle
}

const secret = "three blind mice"

// password gives a user its first password.
func (w *fixture) password(handle string) {
	w.t.Helper()
	_, err := w.accounts.ChangePassword(w.t.Context(), core.Actor{Handle: handle}, "", secret, "")
	require.NoError(w.t, err)
}

func withPassword(w *fixture, n int) string {
	handle := anotherUser(w, n)
	w.password(handle)
	return handle
}

func (w *fixture) token(handle string, scopes ...school.Scope) (secret, id string) {
	w.t.Helper()
	secret, token, err := w.accounts.IssueToken(w.t.Context(), core.Actor{Handle: handle}, "laptop", scopes, 0)
	require.NoError(w.t, err)
	return secret, token.ID
}

func ofAnn(w *fixture, _ int) string {
	_, id := w.token("ann", school.ScopeRead)
	return id
}

// theToken is the one that everybody calls with: the n-th user's.
func theToken(w *fixture, n int) string {
	who, _ := rights(w.t)
	t := school.Token{
		ID: "t1", Kind: school.TokenAPI, User: w.as(who[n]).Actor.Handle, Name: "laptop", Hash: strings.Repeat("ab", 32),
		Scopes: []school.Scope{school.ScopeRead}, Created: start, Expires: start + day,
	}
	require.NoError(w.t, w.accounts.Store.AddToken(w.t.Context(), t))
	return t.ID
}

func member(w *fixture, n int) string {
	handle := anotherUser(w, n)
	require.NoError(w.t, w.reg.Store.Enrol(w.t.Context(), school.Enrolment{Class: "cs101", User: handle, Role: core.RoleStudent, Since: start}))
	return handle
}

func task(state core.TaskState) func(w *fixture, n int) string {
	return func(w *fixture, n int) string {
		ctx := w.t.Context()
		t := core.Task{
			ID: fmt.Sprintf("task-%d", n), Generation: 1, Kind: school.KindArchive, Args: []byte(`{"class":"cs101","assignment":"hw1","user":"ann"}`),
			Priority: core.PriorityNormal, Requester: "ann", About: "cs101/hw1", Created: start, State: core.TaskQueued,
		}
		_, err := w.in.Store.CreateTask(ctx, t)
		require.NoError(w.t, err)
		if state == core.TaskQueued {
			return t.ID
		}
		end := core.TaskEnd{ID: t.ID, Generation: 1, State: state}
		if state == core.TaskDone {
			digest, size, err := w.reg.Blobs.Put(ctx, strings.NewReader("a zip"), 100)
			require.NoError(w.t, err)
			end.Download = &core.Download{Name: "a.zip", Type: "application/zip", Digest: digest, Size: size, Expires: start + hour}
		}
		_, err = w.in.Store.EndTask(ctx, end)
		require.NoError(w.t, err)
		return t.ID
	}
}

func scheduled(w *fixture, n int) string {
	name := fmt.Sprintf("s%d", n)
	_, err := w.reg.Store.PutSchedule(w.t.Context(), core.Schedule{Name: name, Kind: core.KindPurge, Cron: "@daily", Priority: core.PriorityLow})
	require.NoError(w.t, err)
	return name
}

const hookURL = "https://hooks.example.org/drover"

func hook(w *fixture, n int) string {
	id := fmt.Sprintf("hook-%d", n)
	_, err := w.reg.Store.PutWebhook(w.t.Context(), core.Webhook{
		ID: id, Class: "cs101", By: "tess", URL: hookURL, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Events: []string{core.EventTaskEnded}, Created: start,
	})
	require.NoError(w.t, err)
	return id
}

func delivered(w *fixture, n int) string {
	t := core.Task{
		ID: fmt.Sprintf("delivery-%d", n), Generation: 1, Kind: core.KindWebhook, Priority: core.PriorityHigh, Lane: hook(w, n), Requester: "drover", About: "cs101",
		Args: []byte(fmt.Sprintf(`{"webhook":"hook-%d","event":"webhook.test","key":"k"}`, n)), Created: start, State: core.TaskQueued,
	}
	_, err := w.in.Store.CreateTask(w.t.Context(), t)
	require.NoError(w.t, err)
	_, err = w.in.Store.EndTask(w.t.Context(), core.TaskEnd{ID: t.ID, Generation: 1, State: core.TaskDone})
	require.NoError(w.t, err)
	return t.ID
}

func experiment(w *fixture, n int) string {
	e := school.Experiment{
		ID: fmt.Sprintf("experiment-%d", n), Class: "cs101", Assignment: homework(w, n), Repeat: 1, State: school.ExperimentReady, By: "tess", Created: start,
	}
	return coretest.PutExperiment(w.t, w.reg.Store, e).ID
}

type object = map[string]any

func says(v any) func(string) any { return func(string) any { return v } }

var webhookBody = says(object{"url": hookURL, "events": []string{core.EventTaskEnded}})

// ofCluster is the rule of what belongs to no class.
func ofCluster(act core.Action) func(a core.Actor) error {
	return func(a core.Actor) error { return core.Allow(a, act, core.Object{}) }
}

// unusedPool is a pool that nothing uses.
func unusedPool(w *fixture, n int) string {
	name := fmt.Sprintf("pool%d", n)
	require.NoError(w.t, w.in.SetPool(w.t.Context(), core.DefaultPool(name)))
	return name
}

// joinToken makes a join token and returns its secret.
func joinToken(w *fixture, _ int) string {
	secret, _ := w.joinToken()
	return secret
}

func joinTokenID(w *fixture, _ int) string {
	_, id := w.joinToken()
	return id
}

func (w *fixture) joinToken() (secret, id string) {
	w.t.Helper()
	secret, token, err := w.joins.Issue(w.t.Context(), core.System(), join.Wish{})
	require.NoError(w.t, err)
	return secret, token.ID
}

// learningPlatform makes a learning platform.
func learningPlatform(w *fixture, n int) string {
	id := fmt.Sprintf("platform-%d-%d", n, w.groups.Add(1))
	at := "https://" + id + ".example"
	_, err := w.platforms.PutPlatform(w.t.Context(), core.System(), school.LTIPlatform{ID: id, Name: id, Issuer: at, Client: "1", AuthURL: at + "/auth", KeysURL: at + "/jwks"})
	require.NoError(w.t, err)
	return id
}

// hostGroup makes a host group without machines.
func hostGroup(w *fixture, n int) string {
	name := fmt.Sprintf("g%d-%d", n, w.groups.Add(1))
	_, err := w.in.Store.(core.Instances).PutHostGroup(w.t.Context(), core.HostGroup{Name: name, Provider: core.CloudProcess, Max: 1})
	require.NoError(w.t, err)
	return name
}

// anInstance makes a machine that nobody was asked for yet.
func anInstance(w *fixture, n int) string {
	i := core.Instance{Group: hostGroup(w, n), State: core.InstanceValid, Created: start, Since: start}
	i.ID = i.Group + "-000001"
	_, err := w.in.Store.(core.Instances).PutInstance(w.t.Context(), i)
	require.NoError(w.t, err)
	return i.ID
}
