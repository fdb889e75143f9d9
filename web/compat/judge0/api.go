package judge0

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"

	"drover/core"
	"drover/core/requests"
	"drover/core/webhook"
	"drover/web/caller"
	"drover/web/compat"
	"drover/web/services"
)

// Settings are this compatible API's own settings.
type Settings struct {
	Keys      compat.Keys       // authenticates tokens: a session.Keeper
	Pool      string            // in whose VMs submissions run
	Languages []Language        // nil: DefaultLanguages
	Limits    Limits            // the zero value: DefaultLimits
	MaxBatch  int               // submissions of one call; 0: 20
	MaxWait   time.Duration     // of a call that waits for the end; 0: 50 s
	Bytes     int64             // that a user may send in half a day; 0: compat.DefaultBytes
	Callbacks webhook.Addresses // where callbacks may be sent
	Version   string
}

// API implements Judge0's interface.
type API struct {
	own      Settings
	requests *requests.Service
	gate     *compat.Gate
	known    map[int]*Language
	mux      *http.ServeMux
	waits    *semaphore.Weighted // calls that wait for the end
	reads    *semaphore.Weighted // concurrent reads of runs' output, which is large
	log      logrus.FieldLogger
}

const (
	defaultBatch = 20
	defaultWait  = 50 * time.Second
	maxWaits     = 200
	maxReads     = 8
)

// New makes the compatible API. Returns INVALID for invalid languages.
func New(p services.Deps, own Settings) (*API, error) {
	if own.Languages == nil {
		own.Languages = DefaultLanguages()
	}
	if err := checkLanguages(own.Languages); err != nil {
		return nil, err
	}
	if own.Limits == (Limits{}) {
		own.Limits = DefaultLimits()
	}
	own.MaxBatch, own.MaxWait = cmp.Or(own.MaxBatch, defaultBatch), cmp.Or(own.MaxWait, defaultWait)
	d := &API{
		own: own, requests: p.Requests, gate: compat.NewGate(p, own.Keys, own.Bytes), known: map[int]*Language{},
		mux: http.NewServeMux(), waits: semaphore.NewWeighted(maxWaits), reads: semaphore.NewWeighted(maxReads), log: p.Log,
	}
	for i := range own.Languages {
		d.known[own.Languages[i].ID] = &own.Languages[i]
	}
	for _, r := range Routes() {
		d.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) { d.serve(r, w, req) })
	}
	d.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		d.answer(w, http.StatusNotFound, fault{"there is nothing here: docs/migrate.md lists what this compatible API does"})
	})
	return d, nil
}

// ServeHTTP serves a request whose path begins after the compatible API's own.
func (d *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// call is one authenticated call.
type call struct {
	who    *caller.Caller
	key    string
	base64 bool
	fields []string
}

// fault is the body of an error.
type fault struct {
	Error string `json:"error"`
}

// refusal is an error with an answer of its own.
type refusal struct {
	status int
	body   any
}

func (r *refusal) Error() string { return http.StatusText(r.status) }

// refuse refuses an invalid request.
func refuse(text string) error { return &refusal{http.StatusBadRequest, fault{text}} }

func (d *API) serve(route Route, w http.ResponseWriter, r *http.Request) {
	c, err := d.enter(route, r)
	if err == nil {
		err = route.handle(d, w, r, c)
	}
	if err != nil {
		d.fail(w, r, err)
	}
}

// enter authenticates the caller.
func (d *API) enter(route Route, r *http.Request) (*call, error) {
	c := &call{key: keyOf(r), base64: r.URL.Query().Get("base64_encoded") == "true"}
	var err error
	if c.who, err = d.gate.Enter(r, c.key, route.Scope, route.Action); err != nil {
		return nil, err
	}
	c.fields, err = requested(r.URL.Query().Get("fields"))
	return c, err
}

func keyOf(r *http.Request) string {
	if key := r.Header.Get("X-Auth-Token"); key != "" {
		return key
	}
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// fail answers an error.
func (d *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	var own *refusal
	var large *http.MaxBytesError
	var much *compat.TooMuch
	switch {
	case errors.As(err, &own):
		d.answer(w, own.status, own.body)
		return
	case errors.Is(err, compat.ErrKey):
		d.answer(w, http.StatusUnauthorized, fault{"say who you are: put a token of drover into the header X-Auth-Token"})
		return
	case errors.Is(err, compat.ErrSlow):
		d.answer(w, http.StatusRequestTimeout, fault{compat.ErrSlow.Error()})
		return
	case errors.As(err, &much):
		w.Header().Set("Retry-After", strconv.Itoa(int(much.Retry/time.Second)+1))
		d.answer(w, http.StatusTooManyRequests, fault{much.Error()})
		return
	case errors.As(err, &large):
		d.answer(w, http.StatusRequestEntityTooLarge, fault{"the body is larger than " + strconv.FormatInt(large.Limit, 10) + " bytes"})
		return
	}
	status, text := http.StatusInternalServerError, "drover has a fault, which has been noted"
	switch core.CodeOf(err) {
	case core.CodeNotFound:
		status, text = http.StatusNotFound, err.Error()
	case core.CodeForbidden:
		status, text = http.StatusForbidden, err.Error()
	case core.CodeInvalid, core.CodeLimit:
		status, text = http.StatusUnprocessableEntity, err.Error()
	case core.CodeConflict, core.CodeEnded:
		status, text = http.StatusConflict, err.Error()
	case core.CodeFull:
		w.Header().Set("Retry-After", "1")
		status, text = http.StatusServiceUnavailable, "queue is full"
	case core.CodeUnavailable, core.CodeBusy:
		status, text = http.StatusServiceUnavailable, "drover cannot do that now: try again later"
	}
	if status >= http.StatusInternalServerError && r.Context().Err() == nil {
		d.log.WithError(err).WithField("path", r.URL.Path).Warn("the Judge0 API failed")
	}
	d.answer(w, status, fault{text})
}

// answer writes JSON.
func (d *API) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller has gone away
}
