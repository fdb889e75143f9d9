package api_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/classes"
	"drover/web/api"
)

// Of many who change what they have all read, one does, and the others are told.
func TestOneOfManyChangesARevision(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	etag := w.call("tess", "GET", hw1, nil).is(http.StatusOK).Header().Get("ETag")
	const many = 8
	codes := make([]int, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			codes[i] = w.call("tess", "PATCH", hw1, object{"title": "Title " + strconv.Itoa(i)}, "If-Match", etag).Code
		})
	}
	all.Wait()
	count := map[int]int{}
	for _, c := range codes {
		count[c]++
	}
	require.Equal(t, map[int]int{http.StatusOK: 1, http.StatusPreconditionFailed: many - 1}, count)
}

func TestTags(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	teacher := w.call("tess", "GET", hw1, nil).Header().Get("ETag")
	student := w.call("ann", "GET", hw1, nil).Header().Get("ETag")
	require.NotEmpty(t, teacher)

	// What is told of it is another thing once ann has submitted, of the same revision.
	w.upload("ann", hw1+"/submissions", "main.py", "x").is(http.StatusCreated)
	var e classes.AssignmentEntry
	w.call("ann", "GET", hw1, nil, "If-None-Match", student).is(http.StatusOK).into(&e)
	require.Equal(t, classes.ProgressSubmitted, e.Progress)
	w.call("tess", "GET", hw1, nil, "If-None-Match", `"0-x", W/`+teacher).is(http.StatusNotModified)

	// So If-Match looks at the revision only.
	for match, want := range map[string]int{
		student: http.StatusOK, `"7"`: http.StatusPreconditionFailed, `"7", *`: http.StatusOK, "2": http.StatusPreconditionFailed, `W/"2-x"`: http.StatusPreconditionFailed,
	} {
		require.Equal(t, want, w.call("tess", "PATCH", hw1, object{"title": "The hw1"}, "If-Match", match).Code, match)
	}
}

// Whatever a list is of, its pages hold every item once.
func TestCursorsWalkAll(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.assignment("hw1")
	for range 5 {
		w.upload("ann", hw1+"/submissions", "main.py", "x").is(http.StatusCreated)
	}
	for n := range 5 {
		hook(w, n)
		task(core.TaskQueued)(w, n)
	}
	for path, want := range map[string]int{
		hw1 + "/submissions": 5, "/classes/cs101/submissions": 5, "/classes/cs101/members": 4, "/users": 11, "/tasks": 5,
		"/classes/cs101/webhooks": 5, "/audit?class=cs101": 5,
	} {
		seen := map[string]bool{}
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		for next := path + sep + "limit=2"; next != ""; {
			var page api.Page[any]
			w.call("root", "GET", next, nil).is(http.StatusOK).into(&page)
			require.LessOrEqual(t, len(page.Items), 2)
			for _, one := range page.Items {
				raw, err := json.Marshal(one)
				require.NoError(t, err)
				require.False(t, seen[string(raw)], "%s has %s twice", path, raw)
				seen[string(raw)] = true
			}
			next = ""
			if page.Next != "" {
				next = path + sep + "limit=2&cursor=" + page.Next
			}
		}
		require.Len(t, seen, want, path)
	}
}
