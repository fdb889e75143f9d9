package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/harness"
	"drover/web/api"
)

// sample is a call that stands for an operation. It is made by everybody in turn, so
// prepare makes what one such call uses up.
type sample struct {
	prepare func(w *world, n int) string           // its answer is the id
	path    string                                 // "" is the operation's, with names filled in; {id} is the id
	body    func(id string) any                    // JSON
	raw     func(t *testing.T) (kind, body string) // anything else
	made    bool                                   // of what is not there yet, or of no class: who may not is told so, whoever it is
	rule    func(a core.Actor) error               // instead of the row of the action
	blind   string                                 // who may not even know of the thing
}

func once(prepare func(w *world, n int) string) func(w *world, n int) string {
	id := ""
	return func(w *world, n int) string {
		if n == 0 {
			id = prepare(w, n)
		}
		return id
	}
}

func homework(w *world, n int) string { return w.assignment(fmt.Sprintf("hw%d", n)).Handle }

func reopened(w *world, n int) string {
	c, err := w.reg.Store.GetClass(w.t.Context(), "cs101")
	require.NoError(w.t, err)
	if c.Deleting {
		c.Deleting = false
		_, err = w.reg.Store.PutClass(w.t.Context(), c)
		require.NoError(w.t, err)
	}
	return fmt.Sprintf("hw%d", n)
}

func harnessTar(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.MainFile), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, harness.ConfigFile), []byte(`{"drover/timeout":5}`), 0o644))
	p, err := harness.Pack(dir)
	require.NoError(t, err)
	return string(p.Tar)
}

func tar(t *testing.T) (kind, body string) { return "application/x-tar", harnessTar(t) }

func aForm(*testing.T) (kind, body string) {
	kind, raw := form("main.py", "print()")
	return kind, raw.String()
}

func (w *world) graded(handle string) string {
	w.t.Helper()
	w.assignment(handle)
	_, err := w.reg.SetHarness(w.t.Context(), w.as("tess").Actor, "cs101", handle, strings.NewReader(harnessTar(w.t)))
	require.NoError(w.t, err)
	return handle
}

// submitted hands something in for ann, and withdraws what waited before.
func submitted(w *world, n int) string {
	if n == 0 {
		w.graded("hw1")
	}
	var s core.Submission
	w.upload("ann", hw1+"/submissions", "main.py", "print()").is(http.StatusCreated).into(&s)
	return s.ID
}

// stopped is a submission whose tests were stopped.
func stopped(w *world, n int) string {
	id := submitted(w, n)
	w.call("ann", "POST", "/submissions/"+id+"/cancel", nil).is(http.StatusAccepted)
	return id
}

func aRequest(*testing.T) (kind, body string) {
	kind, raw := requestForm(`{"pool": "p1", "command": ["true"]}`, "file", "main.py", "print()")
	return kind, raw.String()
}

// requested is a request of ann's.
func requested(w *world, _ int) string {
	row, _, err := w.in.Submit(w.t.Context(), core.Spec{Pool: pool, Submitter: "ann", Command: []string{"true"}})
	require.NoError(w.t, err)
	return row.Spec.ID
}

// ended is a request of ann's that left main.py.
func ended(w *world, n int) string {
	id, ctx := requested(w, n), w.t.Context()
	digest, size, err := w.reg.Blobs.Put(ctx, strings.NewReader("print()"), 100)
	require.NoError(w.t, err)
	_, err = w.in.Store.Record(ctx, core.Result{
		ID: id, Generation: 1, State: core.RequestCompleted, Pool: pool, Files: []core.File{{Path: "main.py", Digest: digest, Size: size}},
	})
	require.NoError(w.t, err)
	return id
}

func anotherUser(w *world, n int) string {
	handle := fmt.Sprintf("new-%d", n)
	_, err := w.reg.Store.PutUser(w.t.Context(), core.User{Handle: handle, Created: start})
	require.NoError(w.t, err)
	return handle
}

const secret = "three blind mice"

// password gives a user its first password.
func (w *world) password(handle string) {
	w.t.Helper()
	_, err := w.accounts.ChangePassword(w.t.Context(), core.Actor{Handle: handle}, "", secret, "")
	require.NoError(w.t, err)
}

func withPassword(w *world, n int) string {
	handle := anotherUser(w, n)
	w.password(handle)
	return handle
}

func (w *world) token(handle string, scopes ...core.Scope) (secret, id string) {
	w.t.Helper()
	secret, token, err := w.accounts.IssueToken(w.t.Context(), core.Actor{Handle: handle}, "laptop", scopes, 0)
	require.NoError(w.t, err)
	return secret, token.ID
}

func ofAnn(w *world, _ int) string {
	_, id := w.token("ann", core.ScopeRead)
	return id
}

// theToken is the one that everybody calls with: the n-th user's.
func theToken(w *world, n int) string {
	who, _ := rights(w.t)
	t := core.Token{
		ID: "t1", Kind: core.TokenAPI, User: w.as(who[n]).Actor.Handle, Name: "laptop", Hash: strings.Repeat("ab", 32),
		Scopes: []core.Scope{core.ScopeRead}, Created: start, Expires: start + day,
	}
	require.NoError(w.t, w.accounts.Store.AddToken(w.t.Context(), t))
	return t.ID
}

func member(w *world, n int) string {
	handle := anotherUser(w, n)
	require.NoError(w.t, w.reg.Store.Enrol(w.t.Context(), core.Enrolment{Class: "cs101", User: handle, Role: core.RoleStudent, Since: start}))
	return handle
}

func task(state core.TaskState) func(w *world, n int) string {
	return func(w *world, n int) string {
		ctx := w.t.Context()
		t := core.Task{
			ID: fmt.Sprintf("task-%d", n), Generation: 1, Kind: core.KindArchive, Args: []byte(`{"class":"cs101","assignment":"hw1","user":"ann"}`),
			Class: core.ClassNormal, Requester: "ann", About: "cs101/hw1", Created: start, State: core.TaskQueued,
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

func scheduled(w *world, n int) string {
	name := fmt.Sprintf("s%d", n)
	_, err := w.reg.Store.PutSchedule(w.t.Context(), core.Schedule{Name: name, Kind: core.KindPurge, Cron: "@daily", Class: core.ClassLow})
	require.NoError(w.t, err)
	return name
}

const hookURL = "https://hooks.example.org/drover"

func hook(w *world, n int) string {
	id := fmt.Sprintf("hook-%d", n)
	_, err := w.reg.Store.PutWebhook(w.t.Context(), core.Webhook{
		ID: id, Class: "cs101", By: "tess", URL: hookURL, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", Events: []string{core.EventTaskEnded}, Created: start,
	})
	require.NoError(w.t, err)
	return id
}

func delivered(w *world, n int) string {
	t := core.Task{
		ID: fmt.Sprintf("delivery-%d", n), Generation: 1, Kind: core.KindWebhook, Class: core.ClassHigh, Lane: hook(w, n), Requester: "drover", About: "cs101",
		Args: []byte(fmt.Sprintf(`{"webhook":"hook-%d","event":"webhook.test","key":"k"}`, n)), Created: start, State: core.TaskQueued,
	}
	_, err := w.in.Store.CreateTask(w.t.Context(), t)
	require.NoError(w.t, err)
	_, err = w.in.Store.EndTask(w.t.Context(), core.TaskEnd{ID: t.ID, Generation: 1, State: core.TaskDone})
	require.NoError(w.t, err)
	return t.ID
}

func experiment(w *world, n int) string {
	e := core.Experiment{
		ID: fmt.Sprintf("experiment-%d", n), Class: "cs101", Assignment: homework(w, n), Repeat: 1, State: core.ExperimentReady, By: "tess", Created: start,
	}
	_, err := w.reg.Store.PutExperiment(w.t.Context(), e)
	require.NoError(w.t, err)
	return e.ID
}

type object = map[string]any

func says(v any) func(string) any { return func(string) any { return v } }

var webhookBody = says(object{"url": hookURL, "events": []string{core.EventTaskEnded}})

// ofHerd is the rule of what belongs to no class.
func ofHerd(act core.Action) func(a core.Actor) error {
	return func(a core.Actor) error { return core.Allow(a, act, core.Object{}) }
}

// samples has one for every operation.
func samples() map[string]sample {
	assignment := once(func(w *world, _ int) string { return w.assignment("hw1").Handle })
	named := func(field, prefix string) sample {
		return sample{
			made: true, prepare: func(_ *world, n int) string { return fmt.Sprintf("%s%d", prefix, n) },
			body: func(id string) any { return object{field: id, "title": "New"} },
		}
	}
	newUser := named("handle", "new-")
	newUser.body = func(id string) any { return object{"handle": id} }
	return map[string]sample{
		"me": {}, "listUsers": {}, "createUser": newUser, "viewUser": {path: "/users/ann"},
		"changeUser": {prepare: anotherUser, path: "/users/{id}", body: says(object{"name": "New"})},
		"deleteUser": {prepare: anotherUser, path: "/users/{id}"},

		"signIn": {prepare: withPassword, body: func(id string) any {
			return object{"user": id, "password": secret, "name": "laptop", "scopes": []string{"read"}}
		}},
		"listTokens": {}, "revokeToken": {prepare: theToken},
		"listUserTokens":  {path: "/users/ann/tokens", made: true},
		"revokeUserToken": {prepare: ofAnn, path: "/users/ann/tokens/{id}", made: true},

		"listClasses": {}, "createClass": named("handle", "new-"), "viewClass": {},
		"changeClass": {prepare: func(_ *world, n int) string { return fmt.Sprint(n) }, body: func(id string) any { return object{"title": "Title " + id} }},
		"deleteClass": {prepare: reopened}, "findClass": {path: "/find/class?query=s101"},

		"listMembers": {}, "enrol": {prepare: anotherUser, path: "/classes/cs101/members/{id}", body: says(object{"role": "student"})},
		"drop":           {prepare: member, path: "/classes/cs101/members/{id}"},
		"importRoster":   {raw: func(*testing.T) (string, string) { return "text/csv", "handle\nnick\n" }, path: "/classes/cs101/roster?dry_run=true"},
		"listDeadlines":  {},
		"setDeadline":    {prepare: assignment, path: hw1 + "/deadlines/cleo", body: says(object{"due_ms": theDue + hour})},
		"removeDeadline": {prepare: assignment, path: hw1 + "/deadlines/cleo"},

		"listMyAssignments": {}, "listAssignments": {},
		"createAssignment": {prepare: reopened, body: func(id string) any { return object{"handle": id, "title": "New", "pool": pool} }},
		"viewAssignment":   {prepare: assignment},
		"changeAssignment": {prepare: homework, path: "/classes/cs101/assignments/{id}", body: says(object{"title": "Other"})},
		"deleteAssignment": {prepare: homework, path: "/classes/cs101/assignments/{id}"},
		"findAssignment":   {prepare: assignment, path: "/find/assignment?query=cs1/HW"},

		"setHarness":      {prepare: homework, path: "/classes/cs101/assignments/{id}/harness", raw: tar},
		"removeHarness":   {prepare: func(w *world, n int) string { return w.graded(fmt.Sprintf("hw%d", n)) }, path: "/classes/cs101/assignments/{id}/harness"},
		"viewProgress":    {prepare: assignment},
		"changeGrade":     {prepare: once(submitted), blind: "cleo", body: says(object{"score": 3, "reason": "late"})},
		"changeUserGrade": {prepare: once(submitted), path: hw1 + "/grades/ann", body: says(object{"score": 3, "reason": "late"})},
		"startArchive":    {prepare: assignment}, "startAssignmentCSV": {prepare: assignment}, "startGradebook": {},

		"submit":          {prepare: assignment, path: hw1 + "/submissions?user=ann", raw: aForm},
		"listSubmissions": {}, "listAssignmentSubmissions": {prepare: assignment},
		"viewSubmission": {prepare: once(submitted)}, "downloadSubmissionFile": {prepare: once(submitted)}, "downloadSubmission": {prepare: once(submitted)},
		"resubmit": {prepare: stopped}, "cancelSubmission": {prepare: submitted},

		"submitRequest": {raw: aRequest}, "listRequests": {}, "viewRequest": {prepare: once(requested)}, "cancelRequest": {prepare: requested},
		"rerunRequest": {prepare: ended}, "listAttempts": {prepare: once(ended)}, "followRequest": {prepare: once(ended)}, "downloadRequestFile": {prepare: once(ended)},

		"startExperiment": {prepare: func(w *world, n int) string { return w.graded(fmt.Sprintf("hw%d", n)) }, path: "/classes/cs101/assignments/{id}/experiments"},
		"listExperiments": {prepare: assignment}, "viewExperiment": {prepare: once(experiment)}, "listOutcomes": {prepare: once(experiment)},
		"applyExperiment": {prepare: experiment}, "abortExperiment": {prepare: experiment},

		"listTasks": {}, "viewTask": {prepare: once(task(core.TaskQueued))}, "cancelTask": {prepare: task(core.TaskQueued)},
		"retryTask": {prepare: task(core.TaskDead)}, "downloadTask": {prepare: once(task(core.TaskDone))},
		"listTrail":     {path: "/trail?class=cs101"},
		"listSchedules": {}, "setSchedule": {path: "/schedules/nightly", body: says(object{"kind": core.KindPurge, "cron": "@daily"})},
		"removeSchedule": {prepare: scheduled}, "runSchedule": {prepare: scheduled},

		"listWebhooks": {}, "addWebhook": {body: webhookBody},
		"listHerdWebhooks": {rule: ofHerd(core.ActWebhook)}, "addHerdWebhook": {rule: ofHerd(core.ActWebhook), body: webhookBody},
		"viewWebhook": {prepare: once(hook)}, "changeWebhook": {prepare: hook, body: says(object{"disabled": true})},
		"removeWebhook": {prepare: hook}, "rotateWebhook": {prepare: once(hook)}, "testWebhook": {prepare: once(hook)},
		"listDeliveries": {prepare: once(hook)}, "redeliver": {prepare: delivered},
	}
}

// rights is core/coursework/testdata/rights.txt: action → who → yes, no or hidden.
func rights(t testing.TB) (who []string, verdicts map[core.Action]map[string]string) {
	t.Helper()
	raw, err := os.ReadFile("../../core/coursework/testdata/rights.txt")
	require.NoError(t, err)
	verdicts = map[core.Action]map[string]string{}
	for line := range strings.Lines(string(raw)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#" || words[0] == "admin":
		case words[0] == "action":
			who = words[1:]
		default:
			row := map[string]string{}
			for i, verdict := range words[1:] {
				row[who[i]] = verdict
			}
			verdicts[core.Action(words[0])] = row
		}
	}
	return who, verdicts
}

// request makes a sample's request.
func (s sample) request(t *testing.T, op api.Operation, id string) *http.Request {
	t.Helper()
	path := s.path
	if path == "" {
		path = strings.NewReplacer("{class}", "cs101", "{assignment}", "hw1", "{path}", "main.py", "{name}", "{id}").Replace(op.Path)
	}
	var from io.Reader = http.NoBody
	kind := ""
	if s.body != nil {
		raw, err := json.Marshal(s.body(id))
		require.NoError(t, err)
		kind, from = "application/json", bytes.NewReader(raw)
	}
	if s.raw != nil {
		var body string
		kind, body = s.raw(t)
		from = strings.NewReader(body)
	}
	r := httptest.NewRequest(op.Method, api.Prefix+strings.ReplaceAll(path, "{id}", id), from)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	return r
}

// Each operation is called by everybody, with a token of the one scope that it names, and
// answers as the table of rights says.
func TestEveryOperationChecksItsRight(t *testing.T) {
	t.Parallel()
	who, verdicts := rights(t)
	all := samples()
	for _, op := range api.Operations() {
		s, ok := all[op.ID]
		if !assert.True(t, ok, "%s has to be in samples", op.ID) {
			continue
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for n, one := range who {
				id := ""
				if s.prepare != nil {
					id = s.prepare(w, n)
				}
				c := w.as(one)
				c.Token, c.Scopes = "t1", []core.Scope{op.Scope}
				want := s.wanted(op, c.Actor, verdicts[op.Action][one])
				if one == s.blind {
					want = http.StatusNotFound
				}
				a := w.send(c, s.request(t, op, id))
				if want == http.StatusOK {
					assert.Less(t, a.Code, 300, "by %s: %s", one, a.Body)
					continue
				}
				assert.Equal(t, want, a.Code, "by %s: %s", one, a.Body)
				assert.NotContains(t, a.Body.String(), "scope", "by %s", one)
			}
		})
	}
}

// wanted is the status that a call has to have; 200 is any good one.
func (s sample) wanted(op api.Operation, a core.Actor, verdict string) int {
	switch {
	case s.rule != nil && s.rule(a) != nil:
		return http.StatusForbidden
	case s.rule != nil || op.Action == "" || verdict == "yes":
		return http.StatusOK
	case s.made || verdict == "no":
		return http.StatusForbidden
	default:
		return http.StatusNotFound
	}
}
