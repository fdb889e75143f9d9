package judge0

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/web/caller"
)

// Requests is what the door needs of core/requests.
type Requests interface {
	SubmitStored(ctx context.Context, a core.Actor, spec core.Spec) (core.Row, error)
	Row(ctx context.Context, a core.Actor, id string) (core.Row, error)
	Cancel(ctx context.Context, a core.Actor, id string) (core.RequestState, error)
	Pool(ctx context.Context, name string) (core.Pool, error)
}

// Keys finds whose a token is. Returns NOTFOUND or FORBIDDEN for one that is no good.
type Keys interface {
	ByToken(ctx context.Context, secret string) (*caller.Caller, error)
}

// Config is what the door is made from.
type Config struct {
	Requests  Requests
	Keys      Keys
	Blobs     core.Blobs
	Pool      string     // in whose VMs submissions run
	Languages []Language // nil: DefaultLanguages
	Limits    Limits     // the zero value: DefaultLimits
	MaxBatch  int        // submissions of one call; 0: 20
	MaxWait   time.Duration
	Limiter   core.Limiter // nil: none
	Rate      core.Rate    // of submissions by one user, and of calls
	Calls     core.Rate    // of one user
	Version   string
	Log       logrus.FieldLogger
}

// Door answers as Judge0 does.
type Door struct {
	cfg   Config
	known map[int]*Language
	mux   *http.ServeMux
	reads chan struct{} // bodies that are read at once
}

const (
	defaultBatch = 20
	defaultWait  = 50 * time.Second
	maxReads     = 16
)

// New makes the door. Returns INVALID for languages that cannot be.
func New(cfg Config) (*Door, error) {
	if cfg.Languages == nil {
		cfg.Languages = DefaultLanguages()
	}
	if err := checkLanguages(cfg.Languages); err != nil {
		return nil, err
	}
	if cfg.Limits == (Limits{}) {
		cfg.Limits = DefaultLimits()
	}
	cfg.MaxBatch, cfg.MaxWait = cmp.Or(cfg.MaxBatch, defaultBatch), cmp.Or(cfg.MaxWait, defaultWait)
	d := &Door{cfg: cfg, known: map[int]*Language{}, mux: http.NewServeMux(), reads: make(chan struct{}, maxReads)}
	for i := range cfg.Languages {
		d.known[cfg.Languages[i].ID] = &cfg.Languages[i]
	}
	for _, r := range Routes() {
		d.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) { d.serve(r, w, req) })
	}
	d.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		d.answer(w, http.StatusNotFound, fault{"there is nothing here: docs/migrate.md lists what this door does"})
	})
	return d, nil
}

// ServeHTTP answers a request whose path begins after the door's own.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// call is one call of somebody known.
type call struct {
	who    *caller.Caller
	base64 bool
	fields []string
}

// fault is what is answered where something is wrong.
type fault struct {
	Error string `json:"error"`
}

// refusal is an error with an answer of its own.
type refusal struct {
	status int
	body   any
	retry  time.Duration
}

func (r *refusal) Error() string { return http.StatusText(r.status) }

func refuse(status int, text string) error { return &refusal{status: status, body: fault{text}} }

func (d *Door) serve(route Route, w http.ResponseWriter, r *http.Request) {
	c, err := d.enter(route, r)
	if err == nil {
		err = route.handle(d, w, r, c)
	}
	if err != nil {
		d.fail(w, r, err)
	}
}

// enter finds out who calls and what may be answered.
func (d *Door) enter(route Route, r *http.Request) (*call, error) {
	who := caller.From(r.Context())
	if secret := r.Header.Get("X-Auth-Token"); secret != "" || who == nil {
		var err error
		if who, err = d.key(r.Context(), secret); err != nil {
			return nil, err
		}
	}
	if !who.Allows(route.Scope) {
		return nil, refuse(http.StatusForbidden, "this token is not for that: it needs the scope "+string(route.Scope))
	}
	if route.Action == core.ActRequestCreate {
		if err := core.Allow(who.Actor, route.Action, core.Object{}); err != nil {
			return nil, err
		}
	}
	if err := d.limit(r.Context(), "judge0 calls "+who.Actor.Handle, d.cfg.Calls, 1); err != nil {
		return nil, err
	}
	c := &call{who: who, base64: r.URL.Query().Get("base64_encoded") == "true"}
	var err error
	c.fields, err = requested(r.URL.Query().Get("fields"))
	return c, err
}

func (d *Door) key(ctx context.Context, secret string) (*caller.Caller, error) {
	unknown := refuse(http.StatusUnauthorized, "say who you are: put a token of drover into the header X-Auth-Token")
	if secret == "" {
		return nil, unknown
	}
	who, err := d.cfg.Keys.ByToken(ctx, secret)
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeForbidden) {
		return nil, unknown
	}
	return who, err
}

func (d *Door) limit(ctx context.Context, name string, rate core.Rate, n int) error {
	if d.cfg.Limiter == nil || rate == (core.Rate{}) {
		return nil
	}
	a, err := d.cfg.Limiter.Take(ctx, name, rate, n)
	if err != nil || a.Allowed {
		return err
	}
	return &refusal{http.StatusTooManyRequests, fault{"too much is asked at once: wait a little"}, a.Retry}
}

// fail answers an error.
func (d *Door) fail(w http.ResponseWriter, r *http.Request, err error) {
	var own *refusal
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &own):
		if own.retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(own.retry/time.Second)+1))
		}
		d.answer(w, own.status, own.body)
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
	if status >= http.StatusInternalServerError && !timedOut(err) {
		d.cfg.Log.WithError(err).WithField("path", r.URL.Path).Warn("the Judge0 door failed")
	}
	d.answer(w, status, fault{text})
}

func timedOut(err error) bool {
	var slow net.Error
	return errors.Is(err, context.Canceled) || errors.As(err, &slow) && slow.Timeout()
}

// answer writes JSON.
func (d *Door) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who hung up hears nothing
}
