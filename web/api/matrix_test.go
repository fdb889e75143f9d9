package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/school"
	"drover/web/api"
)

// undoable has imported a roster into cs101.
func undoable(w *fixture, n int) string {
	handle := anotherUser(w, n)
	_, err := w.reg.ImportRoster(w.t.Context(), w.as("root").Actor, "cs101", strings.NewReader("handle\n"+handle), classes.ImportOptions{})
	require.NoError(w.t, err)
	return handle
}

// samples has one for every operation.
func samples() map[string]sample {
	assignment := once(func(w *fixture, _ int) string { return w.assignment("hw1").Handle })
	named := func(field, prefix string) sample {
		return sample{
			made: true, prepare: func(_ *fixture, n int) string { return fmt.Sprintf("%s%d", prefix, n) },
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
		"makeLink":        {path: "/users/ann/link", made: true},
		"makeLinks":       {path: "/users/links?class=cs101", made: true},

		"listClasses": {}, "createClass": named("handle", "new-"), "viewClass": {},
		"changeClass": {prepare: func(_ *fixture, n int) string { return fmt.Sprint(n) }, body: func(id string) any { return object{"title": "Title " + id} }},
		"deleteClass": {prepare: reopened}, "findClass": {path: "/find/class?query=s101"},

		"listMembers": {}, "enrol": {prepare: anotherUser, path: "/classes/cs101/members/{id}", body: says(object{"role": "student"})},
		"drop":            {prepare: member, path: "/classes/cs101/members/{id}"},
		"undoImport":      {prepare: undoable},
		"listInvitations": {}, "invite": {body: says(object{"life_ms": 60_000})}, "mailInvitations": {body: says(object{})},
		"withdrawInvitation": {path: "/classes/cs101/invitations/ann"},
		"importRoster":       {raw: func(*testing.T) (string, string) { return "text/csv", "handle\nnick\n" }, path: "/classes/cs101/roster?dry_run=true"},
		"listDeadlines":      {},
		"setDeadline":        {prepare: assignment, path: hw1 + "/deadlines/cleo", body: says(object{"due_ms": theDue + hour})},
		"removeDeadline":     {prepare: assignment, path: hw1 + "/deadlines/cleo"},

		"listMyAssignments": {}, "listAssignments": {},
		"createAssignment": {prepare: reopened, body: func(id string) any { return object{"handle": id, "title": "New", "pool": pool} }},
		"viewAssignment":   {prepare: assignment},
		"listPoolChoices":  {},
		"changeAssignment": {prepare: homework, path: "/classes/cs101/assignments/{id}", body: says(object{"title": "Other"})},
		"deleteAssignment": {prepare: homework, path: "/classes/cs101/assignments/{id}"},
		"findAssignment":   {prepare: assignment, path: "/find/assignment?query=cs1/HW"},

		"viewHandout": {prepare: once(explained)}, "downloadHandoutFile": {prepare: once(explained), path: "/classes/cs101/assignments/{id}/handout/attachments/main.py"},
		"setHarness":      {prepare: homework, path: "/classes/cs101/assignments/{id}/harness", raw: tar},
		"removeHarness":   {prepare: func(w *fixture, n int) string { return w.graded(fmt.Sprintf("hw%d", n)) }, path: "/classes/cs101/assignments/{id}/harness"},
		"viewProgress":    {prepare: assignment},
		"viewReport":      {prepare: assignment},
		"listMissing":     {prepare: assignment},
		"changeGrade":     {prepare: once(submitted), blind: "cleo", body: says(object{"score": 3, "reason": "late"})},
		"changeUserGrade": {prepare: once(submitted), path: hw1 + "/grades/ann", body: says(object{"score": 3, "reason": "late"})},

		"submit":          {prepare: assignment, path: hw1 + "/submissions?user=ann", raw: aForm},
		"submitGit":       {prepare: repository, path: hw1 + "/submissions/git?user=ann", body: func(id string) any { return object{"address": id} }},
		"listSubmissions": {}, "listAssignmentSubmissions": {prepare: assignment},
		"viewSubmission": {prepare: once(submitted)}, "downloadSubmissionFile": {prepare: once(submitted)}, "downloadSubmission": {prepare: once(submitted)},
		"resubmit": {prepare: stopped}, "cancelSubmission": {prepare: submitted},
		"listComments": {prepare: once(submitted)}, "addComment": {prepare: once(submitted), blind: "cleo", body: says(object{"text": "Name it."})},
		"releaseComments": {prepare: once(submitted), blind: "cleo"}, "askQuestion": {prepare: once(submitted), blind: "cleo", body: says(object{"text": "Why?"})},
		"answerQuestions": {prepare: once(submitted), blind: "cleo", body: says(object{"text": "Because."})},
		"editComment":     {prepare: commented, blind: "cleo", body: says(object{"text": "Name it."})}, "deleteComment": {prepare: commented, blind: "cleo"},

		"submitRequest": {raw: aRequest}, "previewRequest": {body: says(object{"pool": pool, "command": []string{"true"}})}, "listRequests": {}, "viewRequest": {prepare: once(requested)}, "whyRequestWaits": {prepare: once(requested)}, "cancelRequest": {prepare: requested},
		"deleteRequest": {prepare: requested},
		"changeRequest": {prepare: requested, body: says(object{"priority": "low"})},
		"rerunRequest":  {prepare: ended}, "replayRequest": {prepare: endedOf, body: says(object{})}, "compareRequest": {prepare: once(replayed)}, "explainRequest": {prepare: once(ended)}, "listAttempts": {prepare: once(ended)}, "followRequest": {prepare: once(ended)}, "downloadRequestFile": {prepare: once(ended)},

		"submitBatch": {raw: aBatch}, "listBatches": {}, "viewBatch": {prepare: once(aWaitingBatch)}, "listBatchResults": {prepare: once(aWaitingBatch)},
		"cancelBatch": {prepare: aWaitingBatch}, "rerunBatch": {prepare: aCancelledBatch},

		"listTypes": {rule: ofTypes}, "viewType": {prepare: once(jobType), path: "/types/{id}", rule: ofTypes},
		"setType": {path: "/types/new", body: says(object{"pool": pool})}, "setTypeHarness": {prepare: jobType, path: "/types/{id}/harness", raw: tar},
		"deleteType": {prepare: jobType, path: "/types/{id}"},

		"startExperiment": {prepare: func(w *fixture, n int) string { return w.graded(fmt.Sprintf("hw%d", n)) }, path: "/classes/cs101/assignments/{id}/experiments"},
		"listExperiments": {prepare: assignment}, "viewExperiment": {prepare: once(experiment)}, "listOutcomes": {prepare: once(experiment)},
		"applyExperiment": {prepare: experiment}, "abortExperiment": {prepare: experiment},

		"listTasks": {}, "startTask": {body: says(object{"kind": school.KindGradebook, "args": object{"class": "cs101"}})}, "viewTask": {prepare: once(task(core.TaskQueued))}, "cancelTask": {prepare: task(core.TaskQueued)},
		"retryTask": {prepare: task(core.TaskDead)}, "downloadTask": {prepare: once(task(core.TaskDone))},
		"listAuditLog":  {path: "/audit?class=cs101"},
		"listSchedules": {}, "setSchedule": {path: "/schedules/nightly", body: says(object{"kind": core.KindPurge, "cron": "@daily"})},
		"removeSchedule": {prepare: scheduled}, "runSchedule": {prepare: scheduled},

		"listWebhooks": {}, "addWebhook": {body: webhookBody},
		"listClusterWebhooks": {rule: ofCluster(core.ActWebhook)}, "addClusterWebhook": {rule: ofCluster(core.ActWebhook), body: webhookBody},
		"viewWebhook": {prepare: once(hook)}, "changeWebhook": {prepare: hook, body: says(object{"disabled": true})},
		"removeWebhook": {prepare: hook}, "rotateWebhook": {prepare: once(hook)}, "testWebhook": {prepare: once(hook)},
		"listDeliveries": {prepare: once(hook)}, "redeliver": {prepare: delivered},

		"viewCluster": {}, "viewHost": {}, "setHost": {body: says(object{"labels": object{"zone": "a"}})}, "drainHost": {}, "undrainHost": {}, "trustHost": {}, "reportHost": {body: says(object{"event": "recovered"})},
		"forgetHost": {prepare: gone, path: "/cluster/hosts/{id}"},
		"listPools":  {}, "viewPool": {}, "removePool": {prepare: unusedPool, path: "/cluster/pools/{id}"}, "setPool": {body: says(object{"paused": true})}, "listQueues": {},
		"listDead": {}, "dropDead": {prepare: dead},
		"listMoves": {}, "viewTimeline": {prepare: once(requested)}, "listRequestChanges": {prepare: once(requested)}, "checkConsistency": {}, "listHistory": {},
		"listLeases": {}, "viewLease": {prepare: once(aLease)}, "createLease": {body: leaseBody}, "previewLease": {body: leaseBody}, "viewCalendar": {},
		"changeLease": {prepare: aLease, body: says(object{"name": "New"})}, "deleteLease": {prepare: aLease},
		"listPlatforms": {}, "viewPlatform": {prepare: learningPlatform, path: "/platforms/{id}"}, "removePlatform": {prepare: learningPlatform, path: "/platforms/{id}"},
		"addPlatform": {prepare: func(_ *fixture, n int) string { return fmt.Sprintf("new-%d", n) }, body: func(id string) any {
			at := "https://" + id + ".example"
			return object{"id": id, "issuer": at, "client_id": "1", "auth_url": at + "/auth", "jwks_url": at + "/jwks"}
		}},
		"listHostGroups": {}, "viewHostGroup": {prepare: hostGroup, path: "/host-groups/{id}"}, "setHostGroup": {path: "/host-groups/spot", body: says(object{"provider": "process", "max": 3})},
		"removeHostGroup": {prepare: hostGroup, path: "/host-groups/{id}"}, "listInstances": {},
		"viewInstance": {prepare: anInstance, path: "/instances/{id}"}, "terminateInstance": {prepare: anInstance, path: "/instances/{id}/terminate"},
		"joinHost":       {made: true, prepare: joinToken, body: func(id string) any { return object{"token": id, "host": "h9", "key": id} }},
		"listJoinTokens": {}, "makeJoinToken": {body: says(object{"uses": 2})}, "revokeJoinToken": {prepare: joinTokenID, path: "/join/tokens/{id}"},

		"viewStats": {}, "viewSeries": {}, "viewClassStats": {}, "viewClassSeries": {}, "viewHits": {}, "listChanges": {},
	}
}

// rights is core/classes/testdata/rights.txt: action → who → yes, no or hidden.
func rights(t testing.TB) (who []string, verdicts map[core.Action]map[string]string) {
	t.Helper()
	raw, err := os.ReadFile("../../core/classes/testdata/rights.txt")
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
		path = strings.NewReplacer("{class}", "cs101", "{assignment}", "hw1", "{path}", "main.py", "{name}", "{id}", "{host}", "h1", "{kind}", "vm", "{thing}", "vm-1", "{pool}", pool).Replace(op.Path)
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
			w := newFixture(t)
			for n, one := range who {
				id := ""
				if s.prepare != nil {
					id = s.prepare(w, n)
				}
				c := w.as(one)
				c.Token, c.Scopes = "t1", []school.Scope{op.Scope}
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
