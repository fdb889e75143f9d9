package student_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drover/core"
)

// request requests a run and returns its page.
func (w *fixture) request(who, command string, all ...sent) string {
	w.t.Helper()
	rec := w.upload(who, "/requests", append([]sent{{"pool", "", pool}, {"command", "", command}}, all...)...)
	require.Equal(w.t, http.StatusSeeOther, rec.Code, "%s", text(rec.Body.String()))
	return rec.Header().Get("Location")
}

// A runner requests a run, watches it, has it stopped, runs it again and takes what it wrote.
func TestTheWayOfARequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	require.Contains(t, w.get("rosa", "/requests"), `href="/requests/new"`)
	require.Contains(t, w.get("rosa", "/requests/new"), "<option>"+pool+"</option>")
	at := w.request("rosa", "sort < in.txt\r\ntrue", sent{"timeout", "", "7"}, sent{"collect", "", "out.txt more"}, sent{"stdin", "", "a\r\nb"}, sent{"files", "in.txt", "x"})
	waits := w.get("rosa", at)
	require.Contains(t, waits, ">waiting</span>")
	require.Contains(t, waits, "It is next.")
	require.Contains(t, waits, "sort &lt; in.txt\ntrue</pre>")
	require.Contains(t, waits, "7 s")

	c := w.claim()
	spec := c.ReadSpec()
	assert.Equal(t, []string{"sh", "-c", "sort < in.txt\ntrue"}, spec.Command)
	assert.Equal(t, []string{"out.txt", "more"}, spec.Collect)
	assert.Equal(t, "in.txt", spec.Files[0].Path)
	assert.Equal(t, int64(3), spec.Stdin.Size, "lines end with LF")
	w.run(c)
	require.Contains(t, w.get("rosa", at), ">running</span>")
	require.Contains(t, w.get("rosa", at), "data-output")
	digest, size, err := w.reg.Blobs.Put(t.Context(), strings.NewReader("<b>found</b>"), 100)
	require.NoError(t, err)
	w.end(c, func(r *core.Result) {
		r.Score, r.MaxScore, r.Stdout, r.ExitCode = nil, nil, "printed <b>", 3
		r.Times = core.Times{Submitted: start, Started: 10, Finished: 20}
		r.Files = []core.File{{Path: "more/a b#.html", Digest: digest, Size: size}}
		r.LeftOut = []core.LeftOut{{Path: "<i>link", Why: "it is a <b>link"}}
	})
	done := w.get("rosa", at)
	require.Contains(t, done, ">completed</span>")
	require.Contains(t, done, "printed &lt;b&gt;")
	require.Contains(t, done, "&lt;i&gt;link")
	require.Contains(t, done, "<dt>Exit code</dt><dd>3</dd>")
	rec := w.ask("rosa", newGet(t, at+"/files/"+between(t, done, `href="`+at+`/files/`, `"`)))
	require.Equal(t, "<b>found</b>", rec.Body.String())
	require.Contains(t, rec.Header().Get("Content-Disposition"), "attachment")
	require.Contains(t, rec.Header().Get("Content-Security-Policy"), "sandbox")

	require.Equal(t, http.StatusSeeOther, w.post("rosa", at+"/rerun", nil).Code)
	require.Equal(t, http.StatusSeeOther, w.post("rosa", at+"/cancel", nil).Code)
	require.Contains(t, w.get("rosa", at), ">cancelled</span>")
	require.Contains(t, w.get("rosa", at), "<h2>Tries</h2>")
	require.Contains(t, w.get("rosa", "/requests?state=cancelled"), at)
	require.NotContains(t, w.get("rosa", "/requests?state=completed"), at)
	w.language = "de"
	for _, page := range []string{"/requests", "/requests/new", at} {
		require.Contains(t, w.get("rosa", page), `<html lang="de">`)
	}
}

// Requests are their submitter's; who may request none is told so before anything is read.
func TestRequestsAreTheirSubmitters(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.request("rosa", "true")
	graded := strings.Replace(w.submitTo("ann", "hw1"), "submissions", "requests", 1)
	for _, who := range []string{"remo", "ann", "tess"} {
		assert.NotContains(t, w.get(who, "/requests"), at, who)
		for _, path := range []string{"", "/files/out.txt"} {
			assert.Equal(t, http.StatusNotFound, w.status(who, http.MethodGet, at+path), "%s: %s", who, path)
		}
		for _, path := range []string{"/cancel", "/rerun"} {
			assert.Equal(t, http.StatusNotFound, w.post(who, at+path, nil).Code, "%s: %s", who, path)
			assert.Equal(t, http.StatusNotFound, w.status("rosa", http.MethodGet, at+path), "nothing changes by GET")
		}
	}
	for _, who := range []string{"ann", "tess"} {
		assert.Equal(t, http.StatusForbidden, w.status(who, http.MethodGet, "/requests/new"), who)
		assert.Equal(t, http.StatusForbidden, w.upload(who, "/requests", sent{"pool", "", pool}, sent{"command", "", "true"}).Code, who)
		assert.NotContains(t, w.get(who, "/"), `href="/requests"`, who)
	}
	assert.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, graded), "it is seen through its submission")
	assert.Contains(t, w.get("olga", "/requests"), at)
	assert.Contains(t, w.get("olga", "/requests"), graded)
	assert.NotContains(t, w.get("olga", "/requests?of=rosa"), graded)
	w.grade(nil)
	w.grade(nil)
	assert.NotContains(t, w.get("olga", graded), "hidden test 3")
	assert.Contains(t, w.get("tess", graded), "hidden test 3")
}

// What is wrong is said above the form, which keeps what was typed.
func TestARefusedRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	for name, fields := range map[string][]sent{
		"there is no command":     {{"command", "", " "}},
		"not a number of seconds": {{"command", "", "true"}, {"timeout", "", "soon"}},
		"at most 32 are allowed":  {{"command", "", "true"}, {"collect", "", strings.Repeat("a ", 33)}},
	} {
		rec := w.upload("rosa", "/requests", append([]sent{{"pool", "", pool}, {"stdin", "", evil}}, fields...)...)
		assert.Equal(t, http.StatusUnprocessableEntity, rec.Code, name)
		assert.Contains(t, rec.Body.String(), name)
		assert.Contains(t, rec.Body.String(), "&lt;script&gt;")
		assert.NotContains(t, rec.Body.String(), "<script>alert")
	}
	rec := w.post("rosa", "/requests", url.Values{"command": {"true"}})
	assert.Equal(t, http.StatusUnprocessableEntity, rec.Code)
	key := []sent{{"key", "", "once"}, {"pool", "", pool}, {"command", "", "true"}}
	first := w.upload("rosa", "/requests", key...).Header().Get("Location")
	assert.Equal(t, first, w.upload("rosa", "/requests", key...).Header().Get("Location"), "a double click is one request")
	evilAt := w.request("rosa", evil)
	for _, path := range []string{"/requests", evilAt} {
		body := w.ask("rosa", httptest.NewRequest(http.MethodGet, path, nil)).Body.String()
		assert.NotContains(t, body, "<script>alert", path)
		assert.Contains(t, body, "&lt;script&gt;", path)
	}
}

// Staff read on a submission's page how its result came about; its owner does not, and operators do on the request's.
func TestHowAResultCameAbout(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	w.grade(func(r *core.Result) {
		waited, others := int64(1500), 71
		r.Receipt = &core.Receipt{
			Drover: "v1.2.3", Kernel: "6.12.9", CPU: "EPYC <b>", Processors: 2, Limits: core.Limits{Timeout: time.Minute, Memory: 64 << 20, Pids: 1, Output: 1 << 20},
			Network: core.NetworkNone, Peer: true, Noise: &core.Noise{Ms: 2000, Waited: &waited, Others: &others},
		}
		r.Tests = []core.Test{{
			Name: "sorts", MaxScore: 1, Verdict: core.TestTimeLimit, Usage: &core.Usage{CPUMs: 1020}, Decision: &core.Decision{By: core.ByTime, TimeMs: 1000},
			Checked: &core.Checked{Because: core.DoubtBusy, Verdict: core.TestTimeLimit, Usage: &core.Usage{CPUMs: 1077}, Others: 83, Again: new(int)},
		}, {Name: "sums", MaxScore: 1, Verdict: core.TestAccepted, Score: 1, Checked: &core.Checked{Because: core.DoubtClose, Verdict: core.TestTimeLimit, Usage: &core.Usage{CPUMs: 1033}, Again: new(int)}}}
	})
	staff := w.get("tess", at)
	for _, want := range []string{
		"How this result came about", "computed for 1.02 s, and its limit of processor time is 1 s: took too long", "6.12.9", "2 × EPYC &lt;b&gt;",
		"1 process,", "v1.2.3", "1.5 s of 2 s", "not measured", "<dd>71 %</dd>", "<dt>Network</dt>\n<dd>no addresses</dd>", "beside it, for trusted parts", "The host was busy: in 1.5 s of the 2 s",
		"other programs used 83 % of the host", "the first run computed for 1.08 s, and its verdict was: took too long", "Checked again, alone",
	} {
		assert.Contains(t, staff, want)
	}
	for _, hidden := range []string{"How this result came about", "6.12.9", "computed for", "83 %", "1.08", "1.03"} {
		assert.NotContains(t, w.get("ann", at), hidden)
	}
	for _, want := range []string{"Checked again, alone: the host was not quiet the first time.", "Checked again, alone: the first time it was close to its time limit."} {
		assert.Contains(t, w.get("ann", at), want)
	}
	request := strings.Replace(at, "submissions", "requests", 1)
	assert.Contains(t, w.get("olga", request), "for the staff of its class")
	assert.NotContains(t, w.get("olga", request), "6.12.9")
	assert.Contains(t, w.get("tess", request), "6.12.9")
}

// Staff run a submission's request again as it was, and read how both compare; the submission stays what it was.
func TestRunAgainAsItWas(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.graded("hw1")
	at := w.submitTo("ann", "hw1")
	request := strings.Replace(at, "submissions", "requests", 1)
	w.grade(nil)
	require.Contains(t, w.get("tess", at), "Run again as it was")
	require.NotContains(t, w.get("ann", at), "Run again as it was")
	require.Equal(t, http.StatusNotFound, w.post("ann", request+"/replay", nil).Code)
	before := w.get("ann", at)
	rec := w.post("tess", request+"/replay", nil)
	require.Equal(t, http.StatusSeeOther, rec.Code)
	replay := rec.Header().Get("Location")
	require.Equal(t, http.StatusNotFound, w.status("ann", http.MethodGet, replay))
	w.grade(func(r *core.Result) { none := 0.0; r.Score = &none })
	shown := w.get("tess", replay)
	for _, want := range []string{"Compared with the original", "They came to different results.", `href="` + request + `"`, "<td>0</td>"} {
		require.Contains(t, shown, want)
	}
	require.NotContains(t, shown, "Run again as it was", "a replay is not replayed")
	require.Equal(t, before, w.get("ann", at))
	w.language = "de"
	require.Contains(t, w.get("tess", replay), "Mit dem Original verglichen")
}
