package frontend_test

import (
	"archive/zip"
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/core/coretest"
	"drover/core/school"
)

// says is a form that is always the same.
func says(pairs ...string) func(*fixture, string) form {
	return func(*fixture, string) form { return pairs }
}

// about is a path with something new in it.
func about(begin string, make func(w *fixture) string, end string) func(*fixture, string) string {
	return func(w *fixture, _ string) string { return begin + make(w) + end }
}

// startOf is where a task of the first kind about something is asked for.
func startOf(at string, about core.ArgType) func(*fixture, string) string {
	k := school.Requestable().Where(func(k *core.TaskKind) bool { return k.About() == about })[0]
	return func(*fixture, string) string { return at + "/tasks/" + k.Name }
}

func homework(w *fixture) string  { return w.assignment(w.next("hw")) }
func submitted(w *fixture) string { return w.submission().ID }

// talked is a submission that people may talk about, however often: so the pool does not fill.
func talked(w *fixture) string {
	all, err := w.store.ListSubmissions(w.t.Context(), school.SubmissionFilter{Class: "cs101", User: "ann", Limit: 1})
	require.NoError(w.t, err)
	if len(all) == 0 {
		return submitted(w)
	}
	return all[0].Submission.ID
}

// commented is the path of a new comment of staff, below /submissions/.
func commented(w *fixture) string {
	id := talked(w)
	c, err := w.deps.Classes.AddComment(w.t.Context(), w.as("tess"), id, classes.NewComment{Text: "x"})
	require.NoError(w.t, err)
	_, err = w.deps.Classes.ReleaseComments(w.t.Context(), w.as("tess"), id)
	require.NoError(w.t, err)
	return id + "/comments/" + c.ID
}

func task(state core.TaskState) func(*fixture) string {
	return func(w *fixture) string { return w.task(state) }
}

// samples has one for every route that changes something, and for those whose path or
// verdict is not that of others.
func samples() map[string]sample {
	all := map[string]sample{}
	for _, some := range []map[string]sample{signSamples(), studentSamples(), staffSamples(), clusterSamples(), userSamples(), courseSamples(), platformSamples()} {
		for pattern, s := range some {
			all[pattern] = s
		}
	}
	return all
}

func signSamples() map[string]sample {
	return map[string]sample{
		"GET /sign-in": {is: http.StatusSeeOther}, // to where who is in already wants to be
		"POST /sign-in": {form: func(w *fixture, _ string) form {
			handle := w.next("new")
			w.user(handle)
			w.password(handle)
			return form{"user", handle, "password", good}
		}},
		"GET /sign-in/link":  {path: func(w *fixture, _ string) string { return "/sign-in/link?token=" + w.link() }},
		"POST /sign-in/link": {form: func(w *fixture, _ string) form { return form{"token", w.link()} }},
		"POST /sign-in/help": {form: says("user", "ann")},
		"POST /sign-out":     {}, "POST /account/sign-out": {}, "POST /language": {form: says("language", "de")},
		"POST /account/password": {form: says("was", "", "password", good, "again", good)},
		"POST /account/tokens":   {form: says("name", "laptop", "scope", "read", "days", "3"), is: http.StatusOK},
		"POST /account/tokens/{id}/revoke": {path: func(w *fixture, who string) string {
			if who == "" {
				return "/account/tokens/none/revoke"
			}
			_, token, err := w.deps.Accounts.IssueToken(w.t.Context(), w.as(who), w.next("token"), []school.Scope{school.ScopeRead}, time.Hour)
			require.NoError(w.t, err)
			return "/account/tokens/" + token.ID + "/revoke"
		}},
		"POST /account/identities/untie": {form: func(w *fixture, who string) form {
			for _, subject := range []string{who + "-1", who + "-2"} {
				id := school.Identity{Issuer: "https://idp.example", Subject: subject, User: who, Created: start}
				if who != "" {
					require.NoError(w.t, w.store.AddIdentity(w.t.Context(), id))
				}
			}
			return form{"issuer", "https://idp.example", "subject", who + "-1"}
		}},
	}
}

// password gives a user the good password.
func (w *fixture) password(handle string) {
	w.t.Helper()
	_, err := w.deps.Accounts.ChangePassword(w.t.Context(), core.Actor{Handle: handle}, "", good, "192.0.2.1")
	require.NoError(w.t, err)
}

// link is the secret of a sign-in link of a new user.
func (w *fixture) link() string {
	w.t.Helper()
	handle := w.next("new")
	w.user(handle)
	link, err := w.deps.Accounts.MakeLink(w.t.Context(), w.as("root"), handle, 0)
	require.NoError(w.t, err)
	return link.Secret
}

// own is for what a student may do for itself, and staff as well.
var own = map[string]string{"cleo": "yes"}

// admins is for what belongs to no class, so that there is nothing to hide: all others are told so.
var admins = map[string]string{
	"olga": "no", "otto": "no", "rosa": "no", "tess": "no", "tina": "no", "ann": "no", "cleo": "no", "theo": "no", "eve": "no", "nick": "no",
}

func studentSamples() map[string]sample {
	return map[string]sample{
		"POST /classes/{class}/assignments/{assignment}": {
			path: about("/classes/cs101/assignments/", homework, ""), form: says("@file:main.py", "print()"), files: true, who: own,
		},
		"POST /classes/{class}/assignments/{assignment}/git": { // the site fetches no repositories
			path: about("/classes/cs101/assignments/", homework, "/git"), form: says("address", "https://github.com/a/b"), who: own, is: http.StatusUnprocessableEntity,
		},
		"POST /classes/{class}/assignments/{assignment}/own-archive": {path: about("/classes/cs101/assignments/", homework, "/own-archive"), who: own},
		"POST /submissions/{id}/resubmit": {path: about("/submissions/", func(w *fixture) string {
			s := w.submission()
			_, err := w.deps.Classes.CancelSubmission(w.t.Context(), w.as("ann"), s.ID)
			require.NoError(w.t, err)
			return s.ID
		}, "/resubmit")},
		"POST /submissions/{id}/comments":                                 {path: about("/submissions/", talked, "/comments"), form: says("text", "x")},
		"POST /submissions/{id}/ask":                                      {path: about("/submissions/", talked, "/ask"), form: says("text", "x")},
		"POST /submissions/{id}/answer":                                   {path: about("/submissions/", talked, "/answer"), form: says("text", "x")},
		"POST /submissions/{id}/release":                                  {path: about("/submissions/", talked, "/release")},
		"POST /submissions/{id}/comments/{comment}":                       {path: about("/submissions/", commented, ""), form: says("text", "y")},
		"POST /submissions/{id}/comments/{comment}/delete":                {path: about("/submissions/", commented, "/delete")},
		"POST /classes/{class}/assignments/{assignment}/release-comments": {path: about("/classes/cs101/assignments/", homework, "/release-comments")},
		"POST /submissions/{id}/cancel":                                   {path: about("/submissions/", submitted, "/cancel")},
		"POST /tasks/{id}/cancel":                                         {path: about("/tasks/", task(core.TaskQueued), "/cancel")},
		"POST /tasks/{id}/retry":                                          {path: about("/tasks/", task(core.TaskDead), "/retry")},
	}
}

func staffSamples() map[string]sample {
	const assignments = "/classes/cs101/assignments/"
	revision := func(get func(w *fixture) int64, pairs ...string) func(*fixture, string) form {
		return func(w *fixture, _ string) form {
			return append(form{"revision", strconv.FormatInt(get(w), 10)}, pairs...)
		}
	}
	class := func(w *fixture) int64 {
		c, err := w.store.GetClass(w.t.Context(), "cs101")
		require.NoError(w.t, err)
		return c.Revision
	}
	made := func(w *fixture) string {
		handle := w.next("class")
		_, err := w.store.PutClass(w.t.Context(), school.Class{Handle: handle, Title: "T", Created: start})
		require.NoError(w.t, err)
		return handle
	}
	newUser := func(w *fixture) string {
		handle := w.next("new")
		w.user(handle)
		return handle
	}
	member := func(w *fixture) string {
		handle := newUser(w)
		require.NoError(w.t, w.store.Enrol(w.t.Context(), school.Enrolment{Class: "cs101", User: handle, Role: core.RoleStudent, Since: start}))
		return handle
	}
	return map[string]sample{
		"GET /classes/new": {who: admins},
		"POST /classes":    {form: func(w *fixture, _ string) form { return form{"handle", w.next("class"), "title", "New"} }, who: admins},

		"POST /classes/{class}/edit":               {form: revision(class, "title", "Other")},
		"POST /classes/{class}/roster":             {form: func(w *fixture, _ string) form { return form{"user", newUser(w), "role", "student"} }},
		"POST /classes/{class}/invitations":        {form: func(w *fixture, _ string) form { return form{"student", member(w), "do", "some"} }, is: http.StatusOK},
		"POST /classes/{class}/roster/change":      {form: func(w *fixture, _ string) form { return form{"member", member(w), "do", "drop"} }},
		"POST /classes/{class}/roster/import/undo": {form: imported},
		"POST /classes/{class}/roster/import": {
			form: func(w *fixture, _ string) form {
				return form{"text", "handle\n" + newUser(w), "sure", "yes"}
			}, files: true,
		},

		"POST /classes/{class}/assignments/new": {form: func(w *fixture, _ string) form {
			return form{"handle", w.next("hw"), "title", "New", "pool", pool, "priority", "normal"}
		}},
		"POST /classes/{class}/assignments/problem": {
			form: func(w *fixture, _ string) form {
				return form{"handle", w.next("hw"), "pool", pool, "time", "1", "@archive:p.zip", string(problemZip(w.t))}
			}, files: true,
		},
		"POST /classes/{class}/assignments/{assignment}/edit": {form: revision(func(w *fixture) int64 {
			as, err := w.store.GetAssignment(w.t.Context(), "cs101", "hw1")
			require.NoError(w.t, err)
			return as.Revision
		}, "title", "Other", "pool", pool, "priority", "normal")},
		"POST /classes/{class}/assignments/{assignment}/harness": {
			path: about(assignments, homework, "/harness"), files: true,
			form: func(w *fixture, _ string) form { return form{"use", "now", "@archive:h.zip", string(harnessZip(w.t))} },
		},
		"GET /classes/{class}/assignments/{assignment}/samples.zip":             {path: about(assignments, (*fixture).tested, "/samples.zip")},
		"GET /classes/{class}/assignments/{assignment}/handout/{path...}":       {path: about(assignments, (*fixture).tested, "/handout/attachments/main.py")},
		"GET /classes/{class}/assignments/{assignment}/harness/files/{path...}": {path: about(assignments, (*fixture).tested, "/harness/files/harness.tar")},
		"POST /classes/{class}/assignments/{assignment}/harness/new":            {form: says("use", "now"), is: http.StatusUnprocessableEntity}, // none was checked
		"POST /classes/{class}/assignments/{assignment}/harness/cases": {
			path: about(assignments, homework, "/harness/cases"), form: says("do", "save", "text", "run: ./a.out\ntests: [{output: x}]\n"),
		},
		"POST /classes/{class}/assignments/{assignment}/harness/remove": {path: about(assignments, (*fixture).tested, "/harness/remove"), form: says("sure", "yes")},
		"POST /classes/{class}/assignments/{assignment}/experiments":    {path: about(assignments, (*fixture).tested, "/experiments"), form: says("repeat", "1")},
		"POST /experiments/{id}/apply":                                  {path: about("/experiments/", (*fixture).experiment, "/apply"), form: says("sure", "yes")},
		"POST /experiments/{id}/abort":                                  {path: about("/experiments/", (*fixture).experiment, "/abort"), form: says("sure", "yes")},

		"POST /classes/{class}/assignments/{assignment}/delete": named(assignments, homework, "hw1"),
		"POST /classes/{class}/delete":                          named("/classes/", made, "cs101"),
	}
}

// named is a form in which the name of what is deleted has to be typed: of something new,
// and by who may not, of what there is.
func named(begin string, make func(w *fixture) string, there string) sample {
	last := there
	return sample{
		path: func(w *fixture, _ string) string { last = make(w); return begin + last + "/delete" },
		form: func(*fixture, string) form { typed := last; last = there; return form{"name", typed} },
	}
}

// problemZip is the smallest problem package.
func problemZip(t testing.TB) []byte {
	t.Helper()
	var raw bytes.Buffer
	z := zip.NewWriter(&raw)
	for name, text := range map[string]string{"problem.yaml": "name: Echo\n", "data/secret/1.in": "1\n", "data/secret/1.ans": "1\n"} {
		f, err := z.Create("echo/" + name)
		require.NoError(t, err)
		_, err = f.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return raw.Bytes()
}

func harnessZip(t testing.TB) []byte {
	t.Helper()
	var raw bytes.Buffer
	z := zip.NewWriter(&raw)
	h := &zip.FileHeader{Name: "main"}
	h.SetMode(0o755)
	out, err := z.CreateHeader(h)
	require.NoError(t, err)
	_, err = out.Write([]byte("#!/bin/sh\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return raw.Bytes()
}

func clusterSamples() map[string]sample {
	down := func(w *fixture) string {
		host := w.next("h")
		other := coretest.NewCluster(w.t, w.cluster.Store, host, pool)
		require.NoError(w.t, coretest.ErrOf(w.cluster.Store.Report(w.t.Context(), core.HostReport{Host: host, Event: core.HostFailed, By: "me"})))
		for owner, epoch := range map[string]int64{other.Runner: other.Epoch, other.Factory: other.Made} {
			next, err := w.cluster.Store.DeclareDead(w.t.Context(), owner, epoch)
			require.NoError(w.t, err)
			require.NoError(w.t, w.cluster.Store.Forget(w.t.Context(), owner, next))
		}
		return host
	}
	schedule := func(w *fixture) string {
		name := w.next("s")
		_, err := w.store.PutSchedule(w.t.Context(), core.Schedule{Name: name, Kind: core.KindPurge, Cron: "@daily", Priority: core.PriorityLow})
		require.NoError(w.t, err)
		return name
	}
	ended := func(state core.RequestState) func(*fixture) string {
		return func(w *fixture) string { return w.ended(state) }
	}
	spare := func(w *fixture) string {
		name := w.next("pool")
		require.NoError(w.t, w.in.SetPool(w.t.Context(), core.DefaultPool(name)))
		return name
	}
	newType := func(w *fixture) string { return w.jobType(w.next("type")) }
	const requests, leases = "/cluster/requests/", "/cluster/leases"
	lease := says("name", "exam", "end", time.Now().UTC().Add(2*time.Hour).Format("2006-01-02T15:04"), "r0-pool", pool, "r0-units", "1")
	return map[string]sample{
		"GET /cluster/audit": {who: admins},

		"POST /cluster/hosts/{host}/drain": {}, "POST /cluster/hosts/{host}/undrain": {}, "POST /cluster/hosts/{host}/trust": {},
		"POST /cluster/hosts/{host}/settings": {form: says("labels", "zone=a", "reserve_cpu", "1", "reserve_memory", "1GiB", "reserve_disk", "0",
			"overcommit_cpu", "2", "overcommit_memory", "0", "overcommit_disk", "0")},
		"POST /cluster/hosts/{host}/evacuate": {form: says("sure", "yes")},
		"POST /cluster/hosts/{host}/report":   {form: says("event", "recovered")},
		"POST /cluster/hosts/{host}/forget":   {path: about("/cluster/hosts/", down, "/forget"), form: says("sure", "yes")},
		"POST /cluster/pools":                 {form: func(w *fixture, _ string) form { return form{"name", w.next("pool")} }},
		"POST /cluster/pools/{pool}": {form: says("provider", "local", "warm", "4", "max", "9", "network", "none", "timeout", "30s", "cpu", "0.5",
			"memory", "512MiB", "disk", "64MiB", "file_size", "8MiB", "pids", "70", "open_files", "300", "output", "2MiB", "max_wait", "2h", "broken_for", "20m",
			"max_waiting", "50", "running", "3", "peer", "no", "quiet", "no", "unboxed", "no", "stage_timeout", "40s", "on_host_loss", "fail", "keep_outputs", "168h", "warm_total", "12",
			"warm_most", "20", "idle_after", "30m", "spread", "3", "strategy", "best-fit", "order", "maxmin")},
		"POST /cluster/pools/{pool}/remove": {path: about("/cluster/pools/", spare, "/remove")},
		"POST /cluster/pools/{pool}/pause":  {form: says("paused", "no")},
		"POST /cluster/types":               {form: func(w *fixture, _ string) form { return form{"name", w.next("type"), "pool", pool} }},
		"POST /cluster/types/{type}": {form: says("pool", pool, "priority", "normal", "command", "make all", "env", "A=1", "collect", "out", "submitters", "ann",
			"timeout", "5s", "memory", "32MiB", "disk", "0", "file_size", "0", "pids", "7", "open_files", "0", "output", "0")},
		"POST /cluster/types/{type}/harness": {
			path: about("/cluster/types/", newType, "/harness"), files: true,
			form: func(w *fixture, _ string) form {
				return form{"archives", "keep", "@archive:h.zip", string(harnessZip(w.t))}
			},
		},
		"POST /cluster/types/{type}/harness/remove":    {path: about("/cluster/types/", newType, "/harness/remove")},
		"POST /cluster/types/{type}/delete":            {path: about("/cluster/types/", newType, "/delete")},
		"POST /cluster/leases":                         {form: lease},
		"POST /cluster/leases/preview":                 {form: lease, is: http.StatusOK},
		"POST /cluster/leases/{id}":                    {path: about(leases+"/", (*fixture).lease, ""), form: lease},
		"POST /cluster/leases/{id}/delete":             {path: about(leases+"/", (*fixture).lease, "/delete"), form: says("sure", "yes")},
		"GET /classes/{class}/leases":                  {who: map[string]string{"ann": "no", "cleo": "no"}},
		"POST /cluster/requests/{id}/cancel":           {path: about(requests, (*fixture).request, "/cancel")},
		"POST /cluster/requests/{id}/change":           {path: about(requests, (*fixture).request, "/change")},
		"POST /cluster/requests/{id}/retry":            {path: about(requests, ended(core.RequestDead), "/retry")},
		"POST /cluster/requests/{id}/drop":             {path: about(requests, ended(core.RequestDead), "/drop")},
		"POST /cluster/tasks/{id}/cancel":              {path: about("/cluster/tasks/", task(core.TaskQueued), "/cancel")},
		"POST /cluster/tasks/{id}/retry":               {path: about("/cluster/tasks/", task(core.TaskDead), "/retry")},
		"POST /cluster/schedules":                      {form: says("name", "nightly", "cron", "@daily", "kind", core.KindPurge)},
		"POST /cluster/schedules/{name}/run":           {path: about("/cluster/schedules/", schedule, "/run")},
		"POST /cluster/schedules/{name}/remove":        {path: about("/cluster/schedules/", schedule, "/remove")},
		"POST /cluster/host-groups/{group}/pause":      {path: about("/cluster/host-groups/", (*fixture).hostGroup, "/pause"), form: says("paused", "yes")},
		"POST /cluster/instances/{instance}/terminate": {path: about("/cluster/instances/", (*fixture).instance, "/terminate")},
	}
}

// hostGroup makes a host group.
func (w *fixture) hostGroup() string {
	w.t.Helper()
	name := w.next("group")
	_, err := w.store.PutHostGroup(w.t.Context(), core.HostGroup{Name: name, Provider: core.CloudProviders()[0], Max: 1})
	require.NoError(w.t, err)
	return name
}

// instance makes a machine of a host group.
func (w *fixture) instance() string {
	w.t.Helper()
	i := core.Instance{Group: w.hostGroup(), State: core.InstanceValid, Created: start, Since: start}
	i.ID = i.Group + "-1"
	_, err := w.store.PutInstance(w.t.Context(), i)
	require.NoError(w.t, err)
	return i.ID
}

// newUser makes a user.
func (w *fixture) newUser() string {
	w.t.Helper()
	handle := w.next("new")
	w.user(handle)
	return handle
}

func userSamples() map[string]sample {
	const users = "/users/"
	anns := map[string]string{"ann": "yes"} // it is her own account
	return map[string]sample{
		"GET /api/docs/{group}":       {path: func(*fixture, string) string { return "/api/docs/classes" }},
		"POST /users":                 {form: func(w *fixture, _ string) form { return form{"handle", w.next("new")} }},
		"POST /users/{user}":          {path: about(users, (*fixture).newUser, ""), form: says("name", "New", "revision", "1")},
		"POST /users/{user}/disable":  {path: about(users, (*fixture).newUser, "/disable"), form: says("disabled", "yes")},
		"POST /users/{user}/delete":   {path: about(users, (*fixture).newUser, "/delete")},
		"POST /users/{user}/link":     {path: about(users, (*fixture).newUser, "/link"), is: http.StatusOK},
		"POST /users/{user}/sign-out": {who: anns},
		"POST /users/{user}/tokens/{id}/revoke": {who: anns, path: func(w *fixture, _ string) string {
			_, token, err := w.deps.Accounts.IssueToken(w.t.Context(), w.as("ann"), w.next("token"), []school.Scope{school.ScopeRead}, time.Hour)
			require.NoError(w.t, err)
			return "/users/ann/tokens/" + token.ID + "/revoke"
		}},
		"POST /users/{user}/identities/untie": {who: anns, form: func(w *fixture, _ string) form {
			id := school.Identity{Issuer: "https://other.example", Subject: "ann", User: "ann", Created: start}
			require.NoError(w.t, w.store.AddIdentity(w.t.Context(), id))
			return form{"issuer", id.Issuer, "subject", id.Subject}
		}},
	}
}

// hook is a webhook of cs101. Of those that are disabled there may be any number.
func (w *fixture) hook(disabled bool) string {
	w.t.Helper()
	id := w.next("hook")
	_, err := w.store.PutWebhook(w.t.Context(), core.Webhook{
		ID: id, Class: "cs101", By: "tess", URL: "https://hooks.example.org/drover", Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
		Events: []string{core.EventTaskEnded}, Created: start, Disabled: disabled,
	})
	require.NoError(w.t, err)
	return id
}

func courseSamples() map[string]sample {
	const hooks = "/webhooks/"
	hook := func(w *fixture) string { return w.hook(true) }
	unseen := map[string]string{"cleo": "hidden"} // it is another's
	return map[string]sample{
		"POST /requests":                     {form: says("pool", pool, "command", "true"), files: true},
		"POST /requests/{id}/cancel":         {path: about("/requests/", (*fixture).request, "/cancel")},
		"POST /requests/{id}/rerun":          {path: about("/requests/", func(w *fixture) string { return w.ended(core.RequestDead) }, "/rerun")},
		"POST /requests/{id}/replay":         {path: about("/requests/", func(w *fixture) string { return w.ended(core.RequestCompleted) }, "/replay"), who: map[string]string{"ann": "no"}},
		"POST /batches/{id}/cancel":          {path: about("/batches/", (*fixture).batch, "/cancel")},
		"POST /batches/{id}/rerun":           {path: about("/batches/", (*fixture).stopped, "/rerun")},
		"GET /requests/{id}/files/{path...}": {is: http.StatusConflict}, // it has not ended

		"POST /classes/{class}/webhooks": {form: says("url", "https://hooks.example.org/drover", "event", core.EventTaskEnded), is: http.StatusOK},
		"GET /webhooks/{id}":             {path: about(hooks, hook, "")},
		"POST /webhooks/{id}":            {path: about(hooks, hook, ""), form: says("url", "https://hooks.example.org/other", "event", core.EventTaskEnded, "disabled", "yes", "revision", "1")},
		"POST /webhooks/{id}/rotate":     {path: about(hooks, hook, "/rotate"), is: http.StatusOK},
		"POST /webhooks/{id}/test":       {path: about(hooks, func(w *fixture) string { return w.hook(false) }, "/test")},
		"POST /webhooks/{id}/redeliver":  {path: about(hooks, hook, "/redeliver"), form: says("delivery", "none"), is: http.StatusUnprocessableEntity},
		"POST /webhooks/{id}/delete":     {path: about(hooks, hook, "/delete"), form: says("sure", "yes")},

		"POST /classes/{class}/gradebook": {form: func(w *fixture, _ string) form {
			s := w.submission()
			return form{"user", "ann", "assignment", s.Assignment, "submission", s.ID, "score", "3", "reason", "late"}
		}},

		"GET /submissions/{id}/grade":  {who: unseen},
		"POST /submissions/{id}/grade": {form: says("score", "3", "max_score", "5", "reason", "late"), who: unseen},

		"POST /classes/{class}/assignments/{assignment}/deadlines":        {form: says("user", "ann", "due", time.Now().Add(24*time.Hour).Format("2006-01-02T15:04"), "reason", "ill")},
		"POST /classes/{class}/assignments/{assignment}/deadlines/remove": {form: says("user", "ann")},
		"POST /classes/{class}/assignments/{assignment}/tasks/{kind}":     {path: startOf("/classes/cs101/assignments/hw1", core.ArgAssignment)},
		"POST /classes/{class}/tasks/{kind}":                              {path: startOf("/classes/cs101", core.ArgClass)},
	}
}

// imported imports a roster, which can be undone.
func imported(w *fixture, _ string) form {
	handle := w.next("new")
	w.user(handle)
	_, err := w.deps.Classes.ImportRoster(w.t.Context(), w.as("root"), "cs101", strings.NewReader("handle\n"+handle), classes.ImportOptions{})
	require.NoError(w.t, err)
	return nil
}
