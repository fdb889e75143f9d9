package webhook_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/school"
	"drover/core/webhook"
)

func TestRequestEnded(t *testing.T) {
	t.Parallel()
	score, most := 1.5, 4.0
	spec := core.Spec{
		ID: "r", Generation: 2, Submitter: "ann", Assignment: "cs101/hw1", Submission: "s", Env: []string{"SECRET=1"}, Notify: []string{"w"},
	}
	body, err := webhook.RequestEnded("d", &spec, &core.Result{
		ID: "r", Generation: 2, State: core.RequestCompleted, Score: &score, MaxScore: &most, Stdout: "SECRET", Stderr: "SECRET",
		Tests: []core.Test{
			{Name: "one", Score: 1.5, MaxScore: 2, Message: "SECRET", Parts: []core.Part{{Name: "SECRET"}}},
			{Name: "two", Group: "g", Verdict: "time limit", MaxScore: 2, Hidden: true, Message: "SECRET"},
		},
		Times: core.Times{Submitted: 1_700_000_000_000, Finished: 2_500}, Token: "SECRET", Host: "SECRET",
	})
	require.NoError(t, err)
	require.NotContains(t, string(body), "SECRET")
	require.JSONEq(t, `{
		"version": 1, "id": "d", "type": "request.ended", "timestamp": "2023-11-14T22:13:22.5Z",
		"data": {
			"id": "r", "generation": 2, "state": "completed", "blame": "", "reason": "", "verdict": "time limit", "score": 1.5, "max_score": 4,
			"tests": [
				{"name": "one", "score": 1.5, "max_score": 2},
				{"name": "two", "group": "g", "verdict": "time limit", "score": 0, "max_score": 2, "hidden": true}
			],
			"tests_total": 2, "submission": "s", "class": "cs101", "assignment": "hw1", "user": "ann", "submitted": "2023-11-14T22:13:20Z"
		}
	}`, string(body))
}

func TestRequestEndedOfAPlainCommand(t *testing.T) {
	t.Parallel()
	body, err := webhook.RequestEnded("d", &core.Spec{Submitter: "ann", Assignment: "hw1"}, &core.Result{
		ID: "r", Generation: 1, State: core.RequestDead, Blame: core.BlamePlatform, Reason: "the host was lost",
		Times: core.Times{Submitted: 1_700_000_000_000, Finished: -1},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"version": 1, "id": "d", "type": "request.ended", "timestamp": "2023-11-14T22:13:20Z",
		"data": {
			"id": "r", "generation": 1, "state": "dead", "blame": "platform", "reason": "the host was lost", "verdict": "platform fault", "score": null, "max_score": null,
			"tests": [], "tests_total": 0, "submission": "", "class": "", "assignment": "hw1", "user": "ann", "submitted": "2023-11-14T22:13:20Z"
		}
	}`, string(body))
}

func TestPayloadsAreBounded(t *testing.T) {
	t.Parallel()
	const wide = "\u2028" // three bytes, six in JSON
	long := strings.Repeat(wide, 10_000) + "\xff"
	r := core.Result{State: core.RequestCompleted, Reason: long}
	for i := range 1000 {
		r.Tests = append(r.Tests, core.Test{Name: fmt.Sprint(i, long), Group: long, Verdict: long})
	}
	spec := core.Spec{Submitter: strings.Repeat("a", core.MaxNameLen), Assignment: strings.Repeat("a", 128)}
	body, err := webhook.RequestEnded("d", &spec, &r)
	require.NoError(t, err)
	require.True(t, json.Valid(body))
	require.Less(t, len(body), 100<<10)
	var read struct {
		Data struct {
			Tests []struct {
				Name string `json:"name"`
			} `json:"tests"`
			Total int `json:"tests_total"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal(body, &read))
	require.Equal(t, 1000, read.Data.Total)
	require.Len(t, read.Data.Tests, 100)
	require.True(t, strings.HasPrefix(read.Data.Tests[99].Name, "99"))
}

func TestTaskEnded(t *testing.T) {
	t.Parallel()
	body, err := webhook.TaskEnded("d", &core.Task{
		ID: "t", Generation: 1, Kind: school.KindArchive, Requester: "tom", About: "cs101/hw1", State: core.TaskDone, Note: "packed 3 submissions",
		Ended: 1_700_000_000_000, Args: json.RawMessage(`{"SECRET":1}`),
		Download: &core.Download{Name: "hw1.zip", Type: "application/zip", Digest: "sha256:SECRET", Size: 9, Expires: 1_700_000_001_000},
	})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"version": 1, "id": "d", "type": "task.ended", "timestamp": "2023-11-14T22:13:20Z",
		"data": {
			"id": "t", "generation": 1, "kind": "archive", "state": "done", "note": "packed 3 submissions", "about": "cs101/hw1", "user": "tom",
			"download": {"name": "hw1.zip", "type": "application/zip", "size": 9, "expires": "2023-11-14T22:13:21Z"}
		}
	}`, string(body))
}

func TestTestPayload(t *testing.T) {
	t.Parallel()
	body, err := webhook.Test("d", &core.Webhook{ID: "w", Class: "cs101", Secret: "SECRET", URL: "https://example.org/SECRET"}, time.UnixMilli(0))
	require.NoError(t, err)
	require.JSONEq(t, `{"version": 1, "id": "d", "type": "webhook.test", "timestamp": "1970-01-01T00:00:00Z", "data": {"webhook": "w", "class": "cs101"}}`, string(body))
}

// A comment is told without its text.
func TestCommented(t *testing.T) {
	t.Parallel()
	body, err := webhook.Commented("d", core.EventQuestionAsked, time.UnixMilli(1_700_000_000_000), webhook.Comment{
		ID: "c", Submission: "s", Class: "cs101", Assignment: "hw1", User: "ann", By: "ann", File: strings.Repeat("x", 600), Line: 3, Last: 5,
	})
	require.NoError(t, err)
	require.JSONEq(t, `{
		"version": 1, "id": "d", "type": "question.asked", "timestamp": "2023-11-14T22:13:20Z",
		"data": {"id": "c", "submission": "s", "class": "cs101", "assignment": "hw1", "user": "ann", "by": "ann", "file": "`+strings.Repeat("x", 500)+`…", "line": 3, "last": 5}
	}`, string(body))
}
