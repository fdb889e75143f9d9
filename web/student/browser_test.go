package student_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/core/coretest/tier"
	"drover/core/requests"
	"drover/core/school"
	"drover/web"
	"drover/web/browsertest"
	"drover/web/caller"
	"drover/web/live"
)

// serve serves the pages to a user, as the whole site does.
func (w *fixture) serve(who string) string {
	w.t.Helper()
	actor, err := w.reg.Actor(w.t.Context(), who)
	require.NoError(w.t, err)
	as := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.site.ServeHTTP(rw, r.WithContext(caller.With(r.Context(), &caller.Caller{Actor: actor, Name: who, Language: r.URL.Query().Get("lang")})))
	})
	if w.service.Watch == nil {
		w.service.Watch = &requests.Watch{Feed: w.cluster.Store, Last: w.cluster.Store.LastEvents}
		w.background(w.service.Watch.Run)
	}
	c := &caller.Caller{Actor: actor, Name: who}
	streams := (&live.Streams{Requests: w.service, Classes: w.reg, Keeper: keeper{c}, Log: w.log}).Pages()
	events := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		streams.ServeHTTP(rw, r.WithContext(caller.With(r.Context(), c)))
	})
	none := http.NotFoundHandler()
	server := httptest.NewUnstartedServer(nil)
	at, err := url.Parse("http://" + server.Listener.Addr().String())
	require.NoError(w.t, err)
	server.Config.Handler, err = web.Handler(web.Config{URL: at, Log: w.log}, web.Handlers{API: none, Judge0: none, Tango: none, Jobe: none, Events: events, Pages: as})
	require.NoError(w.t, err)
	following, end := context.WithCancel(context.Background())
	server.Config.BaseContext = func(net.Listener) context.Context { return following }
	server.Start()
	w.t.Cleanup(func() {
		end() // a page that is still open follows events, and would begin again when cut off
		server.Close()
	})
	return at.String()
}

// keeper lets one user in forever.
type keeper struct{ is *caller.Caller }

func (k keeper) Again(*http.Request) (*caller.Caller, error) { return k.is, nil }

// background runs a loop until the test ends.
func (w *fixture) background(run func(ctx context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	w.t.Cleanup(func() {
		stop()
		require.NoError(w.t, <-done)
	})
}

// sample fills a school as a term does, and returns the paths of what there is to see.
func (w *fixture) sample() []string {
	w.t.Helper()
	w.pass(-5 * hour) // what is to come takes as long
	text := "Write `sort.py`, which reads numbers and prints them **in order**.\n\n- one number in each line\n- at most 1000\n\n```\npython3 sort.py < numbers\n```\n"
	w.graded("hw1", func(as *school.Assignment) { as.Title, as.Text = "Sorting", text })
	w.assignment("essay", func(as *school.Assignment) {
		as.Title, as.Due, as.Cutoff, as.AllowFinal = "An essay about sorting", start+hour, 0, false
	})
	w.graded("hw2", func(as *school.Assignment) {
		as.Title, as.Due, as.Cutoff = "Searching in long and wide trees of words", start-hour, start+hour
	})
	w.assignment("hw0", func(as *school.Assignment) { as.Title, as.Due, as.Cutoff = "Warming up", start-2*day, start-day })
	w.assignment("old", func(as *school.Assignment) { as.Due, as.Cutoff = start-30*day, start-20*day })
	ends := []func(r *core.Result){
		func(r *core.Result) { *r.Score = 2 },
		func(r *core.Result) { *r.Score = 5 },
		func(r *core.Result) {
			r.State, r.Blame, r.Limit, r.Score, r.Reason = core.RequestTimedOut, core.BlameSubmission, core.LimitTime, nil, "it ran for more than 5 s"
		},
		func(r *core.Result) { *r.Score = 4 },
		dead,
		func(r *core.Result) {
			r.Times = core.Times{Submitted: start, Claimed: 1200, Started: 1500, Finished: 3900}
			r.Usage = core.Usage{CPUMs: 2100, WallMs: 2400, MemoryPeakBytes: 34 << 20}
			r.Attempt = 1
			r.Tests = []core.Test{
				{Name: "small numbers", Score: 3, MaxScore: 3, Verdict: "accepted", Usage: &core.Usage{WallMs: 40, MemoryPeakBytes: 9 << 20}},
				{Name: "negative numbers", Score: 4, MaxScore: 5, Parts: []core.Part{{Name: "two of them", Score: 2, MaxScore: 2}, {Name: "many of them", Score: 2, MaxScore: 3}}, Message: "Think of `-0` as well."},
				{Name: "nothing at all", MaxScore: 2, Verdict: "wrong answer", Message: "wrong answer: line 2 is \"3\", expected \"2\"\n\nGiven:\n```\n3\n2\n1\n```\n\nExpected:\n```\n1\n2\n3\n```\n\nPrinted:\n```\n1\n3 \n2\n```\n"},
			}
		},
	}
	var at []string
	for _, end := range ends {
		at = append(at, w.submitTo("ann", "hw1", sent{"files", "sort.py", "print(sorted(map(int, open(0))))\n"}, sent{"files", "a-file-with-a-name-that-is-rather-long-for-a-phone.txt", "x"}))
		w.grade(end)
		w.pass(7 * hour / 10)
	}
	waits := w.submitTo("ann", "hw2")
	archive := w.post("ann", "/classes/cs101/assignments/hw1/own-archive", nil).Header().Get("Location")
	return []string{"/", "/classes/cs101?all=1", "/classes/cs101/assignments/hw1", at[2], at[5], waits, "/tasks", archive, "/submissions/none"}
}

// sampleRequests makes requests of rosa: one that has ended, one that runs and one that
// waits, and returns the paths of what there is to see.
func (w *fixture) sampleRequests() []string {
	w.t.Helper()
	ended := w.request("rosa", "python3 simulate.py --steps 1000 --seed 7 > out.txt", sent{"files", "simulate.py", "x"}, sent{"collect", "", "out.txt"})
	digest, size, err := w.reg.Blobs.Put(w.t.Context(), strings.NewReader("found"), 100)
	require.NoError(w.t, err)
	for c := range w.claims() {
		if "/requests/"+c.ReadSpec().ID != ended {
			continue
		}
		w.end(c, func(r *core.Result) {
			r.Score, r.MaxScore, r.Stdout, r.Stderr, r.Attempt = nil, nil, strings.Repeat("step 7: 0.125\n", 20), "a warning\n", 1
			r.Files, r.LeftOut = []core.File{{Path: "out.txt", Digest: digest, Size: size}}, []core.LeftOut{{Path: "socket", Why: "it is no file"}}
			r.Times = core.Times{Submitted: start, Claimed: 1200, Started: 1500, Finished: 3900}
		})
	}
	replay := w.post("rosa", ended+"/replay", nil).Header().Get("Location")
	for c := range w.claims() {
		w.end(c, func(r *core.Result) { r.Stdout = "step 7: 0.126\n" })
	}
	stopped := w.request("rosa", "sleep 1000")
	w.post("rosa", stopped+"/cancel", nil)
	w.post("rosa", stopped+"/rerun", nil)
	w.post("rosa", stopped+"/cancel", nil)
	runs := w.request("rosa", "make")
	for c := range w.claims() {
		w.run(c)
	}
	waits := w.request("rosa", "make test")
	return append([]string{"/requests", "/requests/new", ended, replay, stopped, runs, waits}, w.sampleBatches()...)
}

// sampleBatches makes batches of rosa: one in the middle of its work, and one that was stopped.
func (w *fixture) sampleBatches() []string {
	w.t.Helper()
	for range w.claims() { // nothing of others waits
	}
	mixed := w.batch("rosa", 60)
	for _, state := range []core.RequestState{"completed", "completed", "completed", "failed", "timed_out", "completed", "dead", "completed", "completed"} {
		w.grade(func(r *core.Result) {
			r.State, r.Stdout, r.Times = state, "step 7: 0.125 and a rather long line that a narrow screen has to break somewhere\n", core.Times{Submitted: start, Started: 10, Finished: 20}
			if state != core.RequestCompleted {
				r.Score, r.MaxScore, r.Reason = nil, nil, "it ran for more than 5 s"
			}
		})
	}
	for range 3 {
		w.run(w.claim())
	}
	stopped := w.batch("rosa", 3)
	w.post("rosa", stopped+"/cancel", nil)
	return []string{"/batches", mixed, mixed + "?from=50", stopped, "/requests?batch=" + strings.TrimPrefix(mixed, "/batches/") + "&state=failed"}
}

// The pages in a real browser: bright, dark, on a phone, with the keyboard and by
// ear. DROVER_LOOK names a folder for pictures of them.
func TestPagesInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	ann, rosa := w.serve("ann"), w.serve("rosa")
	var pages []string
	for _, path := range w.sample() {
		pages = append(pages, ann+path)
	}
	for _, path := range w.sampleRequests() {
		pages = append(pages, rosa+path)
	}
	pages = append(pages, ann+w.submitTo("ann", "hw2"))
	tab := browsertest.Start(t).Tab(t)
	for _, page := range pages {
		path := "/" + strings.SplitN(page, "/", 4)[3]
		for name, screen := range map[string]struct {
			width int64
			dark  bool
		}{"light": {1280, false}, "phone": {360, true}} {
			tab.Screen(screen.width, 800, screen.dark)
			tab.Goto(page)
			if dir := os.Getenv("DROVER_LOOK"); dir != "" {
				tab.Screenshot(filepath.Join(dir, name+strings.NewReplacer("/", "-", "?", "-").Replace(path)+".png"))
			}
			assert.Empty(t, tab.Axe(), "%s, %s", path, name)
			assert.LessOrEqual(t, tab.Overflow(), 0, "%s, %s", path, name)
		}
	}
}

// Files are listed before they are sent, and sent by the script; also without it.
func TestSubmittingByABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	site := w.serve("ann")
	file := filepath.Join(t.TempDir(), "main.py")
	require.NoError(t, os.WriteFile(file, []byte("print()\n"), 0o600))
	b := browsertest.Start(t)
	for _, script := range []bool{true, false} {
		tab := b.Tab(t)
		tab.Script(script)
		tab.Goto(site + "/classes/cs101/assignments/hw1")
		if script { // refused first, and then sent from the same page
			tab.Press("Submit")
			tab.Await("Choose a file or type one first.")
		}
		tab.Choose("#f-files", file)
		if script {
			tab.Await("0 kB")
			require.Contains(t, tab.Text("[data-chosen]"), "main.py")
		}
		tab.Click("[data-send] button")
		tab.Await("What was submitted")
		require.Contains(t, tab.Path(), "/submissions/")
	}
	all, err := w.reg.Store.ListSubmissions(t.Context(), school.SubmissionFilter{Class: "cs101", User: "ann"})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "main.py", all[0].Submission.Files[0].Path)
}

// What is missing is said before anything is sent. A typed file is submitted, and edited from its result.
func TestTypingAndSubmittingAgainInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1", func(as *school.Assignment) { as.Rules.Required = []string{"sort.py"} })
	other := filepath.Join(t.TempDir(), "other.py")
	require.NoError(t, os.WriteFile(other, []byte("x"), 0o600))
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.serve("ann") + "/classes/cs101/assignments/hw1")
	tab.Absent("Its text")
	tab.Choose("#f-files", other)
	tab.Press("Submit")
	tab.Await("These files are missing: sort.py")
	tab.Press("Type")
	tab.Fill("#f-text-0", "print()\nprint()")
	tab.Await("there")
	require.InDelta(t, 2, tab.Number(`document.querySelectorAll(".gutter > span").length`), 0)
	tab.Press("Submit")
	tab.Await("What was submitted")
	tab.Press("Submit again")
	tab.Await("This starts with an earlier submission.")
	require.InDelta(t, 1, tab.Number(`Number([...document.querySelectorAll("textarea")].some((area) => area.value === "print()\nprint()"))`), 0)
	require.Empty(t, tab.Axe())
	tab.Width(360)
	require.Zero(t, tab.Overflow())
}

// The main way, in each browser: files are chosen and sent, and the page that follows shows by itself how the tests go
// on, what they print, and their result.
func TestASubmissionIsFollowedInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	file := filepath.Join(t.TempDir(), "main.py")
	require.NoError(t, os.WriteFile(file, []byte("print()\n"), 0o600))
	browsertest.Everywhere(t, func(t *testing.T, p browsertest.Person) {
		w := newFixture(t)
		w.graded("hw1", func(as *school.Assignment) { as.ShowOutput = true })
		p.Goto(w.serve("ann") + "/classes/cs101/assignments/hw1")
		p.Choose("#f-files", file)
		p.Await("0 kB")
		p.Press("Submit")
		p.Await("waiting")
		c := w.claim()
		p.Await("is being prepared")
		w.run(c, "first <b>words</b>\n", "second words\n")
		p.Await("Output so far")
		p.Await("first <b>words</b>")
		p.Await("second words")
		w.end(c, func(r *core.Result) { r.Stdout = "the whole output" })
		p.Await("of 10")
		p.Await("the whole output")
		p.Absent("Output so far")
	})
}

// A request whose machine fails begins again, and so does what it prints.
func TestARequestIsFollowedInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	at := w.request("rosa", "make")
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.serve("rosa") + at)
	c := w.claim()
	w.run(c, "lost words")
	tab.Await("lost words")
	w.finish(c, core.OutcomeRetry)
	w.backend.Hasten(t, w.cluster.Store)
	c = w.claim()
	w.run(c, "new words")
	tab.Await("new words")
	tab.Absent("lost words")
	tab.Await("Try 2")
	w.end(c, nil)
	tab.Await("completed")
}

// A task's page shows its progress as it goes on.
func TestATaskIsFollowedInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	w.submitTo("ann", "hw1")
	k := w.tasker()
	at := w.post("ann", "/classes/cs101/assignments/hw1/own-archive", nil).Header().Get("Location")
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.serve("ann") + at)
	tab.Await("waiting")
	c := k.exchange(1)[0]
	tab.Await("under way")
	require.NoError(t, w.cluster.Store.ProgressTask(t.Context(), k.owner, k.epoch, c.Task.Key(), c.Token, core.TaskProgress{Done: 3, Total: 9}, time.Minute))
	tab.Await("3 of 9")
	k.end(c, core.TaskEnd{State: core.TaskDone})
	tab.Await("done")
	tab.Absent("Stop")
}

// Files and folders that are dropped are listed with what is in them, can be left out
// again, and are sent with their paths.
func TestDroppingFilesInABrowser(t *testing.T) {
	tier.OnlyInAll(t, tier.Browser)
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	dir := filepath.Join(t.TempDir(), "work")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "deep"), 0o700))
	for _, name := range []string{"main.py", "deep/part.py", "notes.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600))
	}
	alone := filepath.Join(t.TempDir(), "alone.py")
	require.NoError(t, os.WriteFile(alone, []byte("x"), 0o600))
	tab := browsertest.Start(t).Tab(t)
	tab.Goto(w.serve("ann") + "/classes/cs101/assignments/hw1")
	tab.Drop("[data-drop]", dir, alone)
	tab.Await("work/deep/part.py")
	tab.Await("alone.py")
	tab.Click(`button[aria-label="Leave out work/notes.txt"]`)
	require.NotContains(t, tab.Text("[data-chosen]"), "notes.txt")
	tab.Press("Submit")
	tab.Await("What was submitted")
	all, err := w.store.ListSubmissions(t.Context(), school.SubmissionFilter{Class: "cs101", User: "ann"})
	require.NoError(t, err)
	require.Len(t, all, 1)
	var paths []string
	for _, f := range all[0].Submission.Files {
		paths = append(paths, f.Path)
	}
	require.ElementsMatch(t, []string{"main.py", "deep/part.py", "alone.py"}, paths)
}
