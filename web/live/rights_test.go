package live_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest"
	"drover/core/requests"
	"drover/core/school"
	"drover/web/live"
)

// soon has streams look at once at who reads.
func soon(s *live.Streams) { s.Beat = time.Millisecond }

// A stream ends when its reader may have it no more, whatever took the right away.
func TestRightsLostInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *fixture){
		"signed out": func(w *fixture) { w.post(w.as("ann"), "/out") },
		"signed out everywhere": func(w *fixture) {
			require.NoError(w.t, w.account.SignOut(w.t.Context(), core.Actor{Handle: "ann"}, "ann"))
		},
		"out of the class": func(w *fixture) {
			_, err := w.store.Drop(w.t.Context(), "cs101", "ann")
			require.NoError(w.t, err)
		},
		"disabled": func(w *fixture) {
			u, err := w.store.GetUser(w.t.Context(), "ann")
			require.NoError(w.t, err)
			u.Disabled = true
			_, err = w.store.PutUser(w.t.Context(), u)
			require.NoError(w.t, err)
		},
		"concealed": func(w *fixture) {
			as, err := w.store.GetAssignment(w.t.Context(), "cs101", "hw-true")
			require.NoError(w.t, err)
			as.HideUntil = time.Now().Add(time.Hour).UnixMilli()
			_, err = w.store.PutAssignment(w.t.Context(), as)
			require.NoError(w.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, coretest.Mini(t), soon)
			path := "/events/submissions/" + w.graded(true).ID
			s := w.open("ann", path, "")
			require.Equal(t, "changed", s.next())
			end(w)
			c := w.claim() // something happens, too
			for s.next() != "" {
				continue
			}
			w.print(c, "not for ann")
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, w.status("ann", path, s.last))
		})
	}
}

func TestATokenThatIsRevoked(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t), soon)
	spec := w.submit("rosa")
	c := w.client("rosa")
	for e, err := range c.FollowRequest(t.Context(), spec.ID, "") {
		if err != nil {
			require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "it broke off: %v", err)
			break
		}
		if e.Kind != requests.EventState {
			continue
		}
		all, err := w.store.Tokens(t.Context(), "rosa", school.TokenAPI)
		require.NoError(t, err)
		require.NoError(t, w.account.Revoke(t.Context(), core.Actor{Handle: "rosa"}, "rosa", all[0].ID))
	}
	for _, err := range c.FollowRequest(t.Context(), spec.ID, "") {
		require.Equal(t, core.CodeForbidden, core.CodeOf(err), "%v", err)
	}
}

// Each stream has its page's rights, and is NOTFOUND for an actor without them.
func TestWhoMayFollowWhat(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	hidden, shown, plain := w.graded(false), w.graded(true), w.submit("rosa")
	task := w.task("ann")
	experiment := w.experiment()
	for path, may := range map[string]map[string]int{
		"/events/submissions/" + shown.ID:          {"ann": 200, "tess": 200, "cleo": 404, "rosa": 404},
		"/events/submissions/" + hidden.ID:         {"ann": 200, "tess": 200, "cleo": 404, "olga": 404},
		"/events/requests/" + shown.ID:             {"ann": 200, "tess": 200, "olga": 200, "cleo": 404, "rosa": 404},
		"/events/requests/" + plain.ID:             {"rosa": 200, "olga": 200, "ann": 404, "tess": 404},
		"/events/tasks/" + task:                    {"ann": 200, "tess": 200, "olga": 200, "cleo": 404},
		"/events/experiments/" + experiment:        {"tess": 200, "ann": 403, "olga": 404},
		"/events/cluster":                          {"olga": 200, "ann": 403, "tess": 403, "rosa": 403},
		"/events/requests/none":                    {"olga": 404},
		"/events/submissions/" + newID():           {"ann": 404},
		"/events/requests/%0Aevent:%20x":           {"olga": 404},
		"/api/v1/requests/" + plain.ID + "/events": {"rosa": 401}, // no token
		"/events/else":                             {"olga": 404},
	} {
		for who, want := range may {
			require.Equal(t, want, w.status(who, path, ""), "%s %s", who, path)
		}
	}
	w.post(w.as("cleo"), "/out")
	require.Equal(t, http.StatusUnauthorized, w.status("cleo", "/events/cluster", ""))

	// What a harness prints is not for every student.
	for range 3 { // turns are the submitters'
		c := w.claim()
		w.print(c, "secret")
		w.end(c)
	}
	for _, one := range []school.Submission{hidden, shown} {
		want := []string{`end {"state":"completed"}`}
		if one.ID == shown.ID {
			want = []string{`output {"stream":"stdout","text":"secret"}`, want[0]}
		}
		require.Equal(t, want, w.open("ann", "/events/submissions/"+one.ID, "").until(`end {"state":"completed"}`), one.Assignment)
		require.Len(t, w.open("tess", "/events/submissions/"+one.ID, "").until(`end {"state":"completed"}`), 2)
	}
}

func TestAUserHasSoManyStreams(t *testing.T) {
	t.Parallel()
	w := newFixture(t, coretest.Mini(t))
	var all []*stream
	for range 32 {
		all = append(all, w.open("olga", "/events/cluster", ""))
	}
	require.Equal(t, 32, w.streams.Open())
	a := w.ask("olga", "/events/cluster", "")
	require.Equal(t, http.StatusTooManyRequests, a.StatusCode)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	spec := w.submit("rosa")
	w.open("rosa", "/events/requests/"+spec.ID, "").close()
	all[0].close()
	require.Eventually(t, func() bool { return w.streams.Open() == 31 }, 5*time.Minute, time.Millisecond)
	w.open("olga", "/events/cluster", "")
}

// task is one of a user's, about cs101.
func (w *fixture) task(requester string) string {
	w.t.Helper()
	task, _, err := w.in.SubmitTask(w.t.Context(), core.Task{
		Kind: school.KindArchive, Args: []byte(`{"class":"cs101","assignment":"hw-true","user":"ann"}`), Priority: core.PriorityNormal, Requester: requester, About: "cs101/hw-true",
	})
	require.NoError(w.t, err)
	return task.ID
}

func (w *fixture) experiment() string {
	w.t.Helper()
	e := school.Experiment{ID: newID(), Class: "cs101", Assignment: "hw-true", Repeat: 1, State: school.ExperimentReady, By: "tess"}
	return coretest.PutExperiment(w.t, w.store, e).ID
}
