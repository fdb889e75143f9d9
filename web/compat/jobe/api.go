package jobe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"

	"drover/core"
	"drover/core/requests"
	"drover/web/caller"
	"drover/web/compat"
	"drover/web/services"
)

// Settings are this compatible API's own settings.
type Settings struct {
	Keys      compat.Keys // authenticates tokens: a session.Keeper
	Cache     core.Cache
	Pool      string        // in whose VMs runs are
	Languages []Language    // nil: DefaultLanguages
	Keep      time.Duration // for how long files are kept; less than the age at which unused ones are deleted. 0: 12 h
	Bytes     int64         // that a user may send in half a day; 0: compat.DefaultBytes
	MaxRuns   int64         // calls that wait for the end of a run; 0: 500
	MaxQueue  time.Duration // that a run may wait for its VM; 0: 20 s
}

// API implements Jobe's interface.
type API struct {
	own      Settings
	requests *requests.Service
	gate     *compat.Gate
	known    map[string]*Language
	mux      *http.ServeMux
	runs     *semaphore.Weighted // calls that wait for the end of a run
	memory   *semaphore.Weighted // bytes that answers may take
	now      func() time.Time
	log      logrus.FieldLogger
}

const (
	defaultKeep  = 12 * time.Hour
	defaultRuns  = 500
	defaultQueue = 20 * time.Second
	maxMemory    = 64 << 20
)

// calls is the rate of a user's calls: a Moodle calls for all of its students by one key, up to four times for a run.
var calls = core.Rate{Every: 5 * time.Millisecond, Burst: 2000}

// New makes the compatible API. Returns INVALID for invalid languages.
func New(p services.Deps, own Settings) (*API, error) {
	if own.Languages == nil {
		own.Languages = DefaultLanguages()
	}
	if err := checkLanguages(own.Languages); err != nil {
		return nil, err
	}
	own.Keep, own.MaxRuns, own.MaxQueue = cmp.Or(own.Keep, defaultKeep), cmp.Or(own.MaxRuns, defaultRuns), cmp.Or(own.MaxQueue, defaultQueue)
	d := &API{
		own: own, requests: p.Requests, gate: compat.NewGate(p, own.Keys, own.Bytes).Rated("jobe", calls), known: map[string]*Language{},
		mux: http.NewServeMux(), runs: semaphore.NewWeighted(own.MaxRuns), memory: semaphore.NewWeighted(maxMemory), now: p.Now, log: p.Log,
	}
	if d.now == nil {
		d.now = time.Now
	}
	for i := range own.Languages {
		d.known[own.Languages[i].ID] = &own.Languages[i]
	}
	for _, r := range Routes() {
		d.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) { d.serve(r, w, req) })
	}
	d.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		d.answer(w, http.StatusNotFound, "there is nothing here: docs/migrate.md lists what this compatible API does")
	})
	return d, nil
}

// ServeHTTP serves a request whose path begins after the compatible API's own. As in Jobe, index.php may begin it, a
// slash may end it, and pages of other sites may call: a key is in a header, which no browser sends by itself.
func (d *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Headers", "X-API-KEY, Origin, X-Requested-With, Content-Type, Accept, Access-Control-Request-Method")
	h.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS, PUT, HEAD, DELETE")
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusOK)
		return
	}
	at := *r.URL
	at.Path = strings.TrimSuffix(strings.TrimPrefix(at.Path, "/index.php"), "/")
	at.RawPath = ""
	to := *r
	to.URL = &at
	d.mux.ServeHTTP(w, &to)
}

// call is one authenticated call.
type call struct{ who *caller.Caller }

// refusal is an error with an answer of its own.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

// refuse refuses an invalid request.
func refuse(format string, args ...any) error {
	return &refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func (d *API) serve(route Route, w http.ResponseWriter, r *http.Request) {
	who, err := d.gate.Enter(r, r.Header.Get("X-API-KEY"), route.Scope, route.Action)
	if err == nil {
		err = route.handle(d, w, r, &call{who})
	}
	if err != nil {
		d.fail(w, r, err)
	}
}

// fail answers an error: as Jobe, with a text. What CodeRunner cannot tell from a fault is the outcome of an overload.
func (d *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var own *refusal
	var large *http.MaxBytesError
	var much *compat.TooMuch
	status, text := http.StatusInternalServerError, "drover has a fault, which has been noted"
	code := core.CodeOf(err)
	switch {
	case errors.As(err, &own):
		status, text = own.status, own.text
	case errors.Is(err, compat.ErrKey):
		status, text = http.StatusForbidden, "put a token of drover into the header X-API-KEY (in CodeRunner: the setting jobe_apikey)"
	case errors.Is(err, compat.ErrSlow):
		status, text = http.StatusRequestTimeout, err.Error()
	case errors.As(err, &large):
		status, text = http.StatusRequestEntityTooLarge, "the body is larger than "+strconv.FormatInt(large.Limit, 10)+" bytes"
	case r.Method == http.MethodPost && (errors.As(err, &much) || errors.Is(err, errBusy) || code == core.CodeFull || code == core.CodeBusy):
		d.answer(w, http.StatusOK, result{Outcome: overload, Stderr: overloadText})
		return
	case errors.As(err, &much):
		w.Header().Set("Retry-After", strconv.Itoa(int(much.Retry/time.Second)+1))
		status, text = http.StatusTooManyRequests, much.Error()
	case code == core.CodeForbidden:
		status, text = http.StatusForbidden, err.Error()
	case code == core.CodeInvalid, code == core.CodeLimit, code == core.CodeNotFound:
		status, text = http.StatusBadRequest, err.Error()
	case code == core.CodeUnavailable, code == core.CodeBusy:
		status, text = http.StatusServiceUnavailable, "drover cannot do that now: try again later"
	}
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		d.log.WithError(err).WithField("path", r.URL.Path).Warn("the Jobe API failed")
	}
	d.answer(w, status, text)
}

// errBusy is returned if a run cannot be waited for.
var errBusy = errors.New("too much waits already")

const overloadText = "Too much waits to be run. Try again in a minute."

// answer writes JSON.
func (d *API) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	_ = to.Encode(body) // texts and numbers can be encoded
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // the caller has gone away
}

func (d *API) languages(w http.ResponseWriter, _ *http.Request, _ *call) error {
	all := make([][2]string, len(d.own.Languages))
	for i, l := range d.own.Languages {
		all[i] = [2]string{l.ID, l.Version}
	}
	d.answer(w, http.StatusOK, all)
	return nil
}
