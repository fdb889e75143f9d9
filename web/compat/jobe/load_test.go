package jobe_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
	"drover/web/compat/jobe"
	"drover/web/services"
)

// host is a testrunner with a few VMs, whose programs print their source.
type host struct {
	w     *fixture
	seq   int64
	clean int            // VMs
	ended map[string]int // how often each request was run
}

// turn claims as many requests as there are VMs, and ends them. Returns how many those were.
func (h *host) turn(vms int) int {
	w, ctx := h.w, h.w.t.Context()
	h.seq++
	w.Cluster.AddVMs(w.t, vms-h.clean)
	claims := w.Cluster.Exchange(w.t, h.seq, vms).Claims
	h.clean = vms - len(claims)
	if len(claims) == 0 {
		return 0
	}
	var done []core.Finish
	for _, c := range claims {
		spec := c.ReadSpec()
		h.ended[spec.ID]++
		r := core.Result{
			ID: spec.ID, Generation: spec.Generation, Pool: spec.Pool, VM: c.VM, Token: c.Token, Attempt: 1, State: core.RequestCompleted,
			Times: core.Times{Submitted: spec.Submitted, Started: 1, Finished: 2},
		}
		for path, content := range map[string][]byte{
			".jobe/note": []byte("ran 0 0m0.010s 0m0.010s 1.0 1.1\n"), ".jobe/out": w.Blob(spec.Files[len(spec.Files)-1].Digest),
		} {
			digest, size, err := w.Blobs.Put(ctx, bytes.NewReader(content), 1<<20)
			require.NoError(w.t, err)
			r.Files = append(r.Files, core.File{Path: path, Digest: digest, Size: size})
		}
		_, err := w.Store.Record(ctx, r)
		require.NoError(w.t, err)
		done = append(done, core.Finish{Key: c.Key, Token: c.Token, Outcome: core.OutcomeDone})
	}
	h.seq++
	w.Cluster.Exchange(w.t, h.seq, 0, done...)
	return len(claims)
}

// code is the body of a run whose program prints its source.
func code(source string, files ...[2]string) json.RawMessage {
	text, _ := json.Marshal(map[string]any{"run_spec": map[string]any{"language_id": "bash", "sourcecode": source, "file_list": files}})
	return text
}

// At the end of an exam each of 200 students gets the result of the own program, on a pool of four VMs: with files
// that nobody has put before, as CodeRunner does. None is lost, none is run twice, and memory is bounded.
func TestBurst(t *testing.T) {
	t.Parallel()
	const students, vms = 200, 4
	w := newFixture(t, func(_ *services.Deps, s *jobe.Settings, _ *core.Pool) { s.MaxQueue = time.Hour })
	w.Held = true
	const id = "0123456789abcdef"
	content := base64.StdEncoding.EncodeToString([]byte("shared"))
	answers := make([]*httptest.ResponseRecorder, students)
	var all sync.WaitGroup
	for i := range students {
		all.Go(func() {
			run := step{Method: http.MethodPost, Path: "/index.php/restapi/runs", Body: code(fmt.Sprintf("%d\n", i), [2]string{id, "f"})}
			w.ask(step{Method: http.MethodGet, Path: "/index.php/restapi/languages"})
			answers[i] = w.patiently(run)
			if answers[i].Code == http.StatusNotFound {
				put := w.patiently(step{Method: http.MethodPut, Path: "/index.php/restapi/files/" + id, Body: json.RawMessage(`{"file_contents": "` + content + `"}`)})
				assert.Equal(t, http.StatusNoContent, put.Code)
				answers[i] = w.patiently(run)
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	h := &host{w: w, ended: map[string]int{}}
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var most uint64
	for going := true; going; {
		if h.turn(vms) > 0 {
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
		}
		select {
		case <-over:
			going = false
		default:
			runtime.Gosched()
		}
	}
	ids := map[string]bool{}
	for i, rec := range answers {
		var a answer
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &a), rec.Body)
		require.Equal(t, answer{ID: a.ID, Outcome: 15, Stdout: fmt.Sprintf("%d\n", i)}, a)
		require.Equal(t, 1, h.ended[a.ID])
		ids[a.ID] = true
	}
	require.Len(t, ids, students)
	require.Len(t, h.ended, students)
	require.Less(t, most, before.HeapInuse+128<<20, "of the whole test program")
}

// patiently asks again where few bodies are read at once: on a busy machine that takes longer than a call waits.
func (w *fixture) patiently(s step) *httptest.ResponseRecorder {
	for {
		rec := w.ask(s)
		if rec.Code != http.StatusTooManyRequests && !strings.Contains(rec.Body.String(), "Too much waits to be run") {
			return rec
		}
	}
}

// Where nothing is run, as many calls as may wait do, the others are told of the overload at once, and all in the
// end; then no request is left for a VM.
func TestOverload(t *testing.T) {
	t.Parallel()
	const students, places = 60, 10
	w := newFixture(t, func(_ *services.Deps, s *jobe.Settings, _ *core.Pool) { s.MaxRuns, s.MaxQueue = places, time.Second })
	w.Held = true
	answers := make([]*httptest.ResponseRecorder, students)
	var all sync.WaitGroup
	for i := range students {
		all.Go(func() {
			answers[i] = w.ask(step{Method: http.MethodPost, Path: "/restapi/runs", Body: code("1")})
		})
	}
	all.Wait()
	for _, rec := range answers {
		w.overloaded(rec)
	}
	rows := w.rows()
	require.GreaterOrEqual(t, len(rows), 1)
	for _, r := range rows {
		require.Equal(t, core.RequestCancelled, r.State)
	}
	require.Zero(t, (&host{w: w, ended: map[string]int{}}).turn(1))
}

// overloaded requires the answer that CodeRunner explains to students.
func (w *fixture) overloaded(rec *httptest.ResponseRecorder) {
	w.t.Helper()
	require.Equal(w.t, http.StatusOK, rec.Code, rec.Body)
	require.JSONEq(w.t, `{"run_id": "", "outcome": 21, "cmpinfo": "", "stdout": "", "stderr": "Too much waits to be run. Try again in a minute."}`, rec.Body.String())
}

// A full queue is an overload at once.
func TestQueueIsFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(_ *services.Deps, _ *jobe.Settings, p *core.Pool) { p.MaxWaiting = 1 })
	w.Held = true
	first := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(first)
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/restapi/runs", strings.NewReader(string(code("1"))))
		r.Header.Set("X-API-KEY", "ann")
		w.api.ServeHTTP(httptest.NewRecorder(), r)
	}()
	require.Eventually(t, func() bool { return len(w.rows()) == 1 }, time.Minute, time.Millisecond)
	w.overloaded(w.ask(step{Method: http.MethodPost, Path: "/restapi/runs", Body: code("2")}))
	// Who hangs up has the run cancelled.
	cancel()
	<-first
	require.Equal(t, core.RequestCancelled, w.rows()[0].State)
}

func (w *fixture) rows() []core.Row {
	w.t.Helper()
	rows, err := w.Store.List(w.t.Context(), core.Filter{Limit: 100})
	require.NoError(w.t, err)
	return rows
}

// one allows one call.
type one struct{ done bool }

func (f *one) Take(_ context.Context, name string, _ core.Rate, _ int) (core.Allowance, error) {
	if strings.HasPrefix(name, "bytes/") || !f.done {
		f.done = true
		return core.Allowance{Allowed: true}, nil
	}
	return core.Allowance{Retry: 1500 * time.Millisecond}, nil
}

// Too many calls are an overload where CodeRunner knows that, and else 429.
func TestRates(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(d *services.Deps, _ *jobe.Settings, _ *core.Pool) { d.Limits = &one{} })
	require.Equal(t, http.StatusOK, w.ask(step{Method: http.MethodGet, Path: "/restapi/languages"}).Code)
	rec := w.ask(step{Method: http.MethodGet, Path: "/restapi/languages"})
	require.Equal(t, http.StatusTooManyRequests, rec.Code)
	require.Equal(t, "2", rec.Header().Get("Retry-After"))
	w.overloaded(w.ask(step{Method: http.MethodPost, Path: "/restapi/runs", Body: code("1")}))
}

// What drover itself says of a run counts before what the script noted.
func TestEndsOfDrover(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*core.Result)
		want   answer
	}{
		"memory": {func(r *core.Result) {
			r.State, r.Blame, r.Limit, r.Reason, r.Files = core.RequestFailed, core.BlameSubmission, core.LimitMemory, "Too much.", nil
		}, answer{Outcome: 17}},
		"memory of a part": {func(r *core.Result) { r.Limit = core.LimitMemory }, answer{Outcome: 17, Stdout: "1\n"}},
		"time": {func(r *core.Result) {
			r.State, r.Blame, r.Limit, r.Files = core.RequestTimedOut, core.BlameSubmission, core.LimitTime, nil
		}, answer{Outcome: 13}},
		"processor time of all processes": {func(r *core.Result) { r.Usage.CPUMs = 5001 }, answer{Outcome: 13, Stdout: "1\n"}},
		"waited too long": {func(r *core.Result) {
			r.State, r.Reason, r.Times.Started, r.Files = core.RequestTimedOut, "It waited too long.", -1, nil
		}, answer{Outcome: 21, Stderr: "It waited too long."}},
		"a broken host": {func(r *core.Result) {
			r.State, r.Blame, r.Reason, r.Times.Started, r.Files = core.RequestDead, core.BlamePlatform, "No host.", -1, nil
		}, answer{Outcome: 20, Stderr: "No host."}},
		"cancelled": {func(r *core.Result) {
			r.State, r.Files = core.RequestCancelled, nil
		}, answer{Outcome: 20, Stderr: "request cancelled"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Change = c.change
			got := w.runs(`{"language_id": "bash", "sourcecode": "echo 1"}`)
			got.ID = ""
			require.Equal(t, c.want, got)
		})
	}
}

// A program that the image lacks is told of, as a fault that is not the student's.
func TestMissingProgram(t *testing.T) {
	t.Parallel()
	all, err := jobe.ParseLanguages([]byte("- {id: own, source: a.sh, needs: sh no-such-program, run: 'sh {source}'}\n"))
	require.NoError(t, err)
	w := newFixture(t, func(_ *services.Deps, s *jobe.Settings, _ *core.Pool) { s.Languages = all })
	a := w.runs(`{"language_id": "own", "sourcecode": "echo 1"}`)
	require.Equal(t, 20, a.Outcome)
	require.Contains(t, a.Stderr, "no-such-program")
	w.refused(http.StatusBadRequest, `{"language_id": "c", "sourcecode": ""}`)
	for name, text := range map[string]string{
		"none": "[]", "twice": "[{id: a, run: a, source: a}, {id: a, run: b, source: b}]", "a path": "[{id: a, run: a, source: ../a}]",
		"unknown": "[{id: a, run: a, source: a, cmd: b}]", "no command": "[{id: a, source: a}]", "no id": "[{id: A b, run: a, source: a}]",
	} {
		_, err := jobe.ParseLanguages([]byte(text))
		require.True(t, core.Is(err, core.CodeInvalid), name)
	}
}

// Files expire before their content may be deleted.
func TestFilesExpire(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	put := step{Method: http.MethodPut, Path: "/restapi/files/0123456789", Body: json.RawMessage(`{"file_contents": ""}`)}
	require.Equal(t, http.StatusNoContent, w.ask(put).Code)
	head := step{Method: http.MethodHead, Path: put.Path}
	w.now = w.now.Add(11 * time.Hour)
	require.Equal(t, http.StatusNoContent, w.ask(head).Code)
	w.now = w.now.Add(2 * time.Hour)
	require.Equal(t, http.StatusNotFound, w.ask(head).Code)
}

// A user has a bounded number of files, and none takes the place of another user's.
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const places, most = 64, 64
	var ids []string // of one place
	for i := 0; len(ids) < most+6; i++ {
		id, sum := fmt.Sprintf("file%06d", i), fnv.New32a()
		_, _ = sum.Write([]byte(id)) // never fails
		if sum.Sum32()%places == 0 {
			ids = append(ids, id)
		}
	}
	put := func(key, id string) {
		rec := w.ask(step{Method: http.MethodPut, Path: "/restapi/files/" + id, Key: key, Body: json.RawMessage(`{"file_contents": ""}`)})
		require.Equal(t, http.StatusNoContent, rec.Code)
	}
	put("bob", ids[0])
	for _, id := range ids {
		put("ann", id)
	}
	there := func(key, id string) bool {
		return w.ask(step{Method: http.MethodHead, Path: "/restapi/files/" + id, Key: key}).Code == http.StatusNoContent
	}
	left := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !there("ann", id) })
	require.LessOrEqual(t, len(left), most)
	require.Equal(t, ids[len(ids)-len(left):], left, "the newest stay")
	require.Greater(t, len(left), most/2)
	require.True(t, there("bob", ids[0]))
}

// Bodies are bounded.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	rec := w.ask(step{Method: http.MethodPost, Path: "/restapi/runs", Body: code(strings.Repeat("x", 8<<20))})
	require.Equal(t, http.StatusRequestEntityTooLarge, rec.Code)
	content := base64.StdEncoding.EncodeToString(make([]byte, 8<<20+1))
	rec = w.ask(step{Method: http.MethodPut, Path: "/restapi/files/0123456789", Body: json.RawMessage(`{"file_contents": "` + content + `"}`)})
	require.Equal(t, http.StatusRequestEntityTooLarge, rec.Code)
}
