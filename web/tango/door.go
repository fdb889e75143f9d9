package tango

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	Pool(ctx context.Context, name string) (core.Pool, error)
}

// Keys finds whose a token is. Returns NOTFOUND or FORBIDDEN for one that is no good.
type Keys interface {
	ByToken(ctx context.Context, secret string) (*caller.Caller, error)
}

// Shelf keeps short texts by name and field for a while after the last of them was put.
type Shelf interface {
	// Put sets a field. Returns LIMIT if the name would have more than most fields.
	Put(ctx context.Context, name, field, text string, most int, keep time.Duration) error
	// Get returns all fields; none of what is not there.
	Get(ctx context.Context, name string) (map[string]string, error)
	// Next counts, from 1.
	Next(ctx context.Context, name string, keep time.Duration) (int64, error)
}

// Config is what the door is made from.
type Config struct {
	Requests Requests
	Keys     Keys
	Blobs    core.Blobs
	Shelf    Shelf
	Images   map[string]string // image → pool; another image is the pool of its own name
	Keep     time.Duration     // of what folders hold; below the age at which files that nobody names are deleted. 0: 12 h
	MaxFile  int64             // bytes of an upload; 0: 100 MiB
	Limiter  core.Limiter      // nil: none
	Calls    core.Rate         // of one user
	Now      func() time.Time  // nil: time.Now
	Version  string
	Log      logrus.FieldLogger
}

// Door answers as Tango does.
type Door struct {
	cfg   Config
	mux   *http.ServeMux
	began time.Time
}

const (
	defaultKeep = 12 * time.Hour
	defaultFile = 100 << 20
)

// New makes the door.
func New(cfg Config) *Door {
	cfg.Keep, cfg.MaxFile = cmp.Or(cfg.Keep, defaultKeep), cmp.Or(cfg.MaxFile, defaultFile)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d := &Door{cfg: cfg, mux: http.NewServeMux(), began: cfg.Now()}
	for _, r := range Routes() {
		d.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) { d.serve(r, w, req) })
	}
	d.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { d.say(w, 0, "drover answers as Tango does") })
	d.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		d.say(w, bad, "there is nothing here: docs/migrate.md lists what this door does")
	})
	return d
}

// ServeHTTP answers a request whose path begins after the door's own.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// call is one call of somebody known.
type call struct {
	who *caller.Caller
	lab string // courselab; "" where the path has none
}

// bad is the statusId of all that went wrong.
const bad = -1

// refusal is an error in the door's own words.
type refusal struct {
	text  string
	http  int // 0: 200
	retry time.Duration
}

func (r *refusal) Error() string { return r.text }

func refuse(text string) error { return &refusal{text: text} }

func (d *Door) serve(route Route, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	c, err := d.enter(route, r)
	if err == nil {
		err = route.handle(d, w, r, c)
	}
	if err != nil {
		d.fail(w, r, route, err)
	}
}

const maxLab = 200 // bytes of a courselab's name

// enter finds out who calls.
func (d *Door) enter(route Route, r *http.Request) (*call, error) {
	ctx := r.Context()
	who, err := d.cfg.Keys.ByToken(ctx, r.PathValue("key"))
	if core.Is(err, core.CodeNotFound) || core.Is(err, core.CodeForbidden) {
		return nil, refuse("Key not recognized")
	}
	if err != nil {
		return nil, err
	}
	if !who.Allows(route.Scope) {
		return nil, refuse("this key is not for that: it needs the scope " + string(route.Scope))
	}
	if route.Action == core.ActRequestCreate {
		if err := core.Allow(who.Actor, route.Action, core.Object{}); err != nil {
			return nil, err
		}
	}
	if d.cfg.Limiter != nil && d.cfg.Calls != (core.Rate{}) {
		a, err := d.cfg.Limiter.Take(ctx, "tango calls "+who.Actor.Handle, d.cfg.Calls, 1)
		if err != nil {
			return nil, err
		}
		if !a.Allowed {
			return nil, &refusal{"too much is asked at once: wait a little", http.StatusTooManyRequests, a.Retry}
		}
	}
	lab := r.PathValue("courselab")
	if len(lab) > maxLab {
		return nil, refuse("the name of the courselab is too long")
	}
	return &call{who, lab}, nil
}

// fail answers an error.
func (d *Door) fail(w http.ResponseWriter, r *http.Request, route Route, err error) {
	var own *refusal
	var large *http.MaxBytesError
	text := err.Error()
	switch {
	case errors.As(err, &own):
		if own.retry > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(own.retry/time.Second)+1))
		}
		if own.http != 0 {
			w.WriteHeader(own.http)
		}
	case errors.As(err, &large):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		text = "the body is larger than " + strconv.FormatInt(large.Limit, 10) + " bytes"
	case core.Is(err, core.CodeInternal), core.Is(err, core.CodeUnavailable), core.Is(err, core.CodeBusy):
		if r.Context().Err() == nil {
			d.cfg.Log.WithError(err).WithField("route", route.Path).Warn("the Tango door failed")
		}
		text = "drover cannot do that now: try again later"
	}
	d.say(w, bad, text)
}

// say answers with a status alone.
func (d *Door) say(w http.ResponseWriter, id int, text string) { d.answer(w, id, text, nil) }

// answer writes JSON.
func (d *Door) answer(w http.ResponseWriter, id int, text string, more map[string]any) {
	body := map[string]any{"statusId": id, "statusMsg": text}
	for name, value := range more {
		body[name] = value
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body) // who hung up hears nothing
}

func (d *Door) info(w http.ResponseWriter, _ *http.Request, _ *call) error {
	d.answer(w, 0, "Found info successfully", map[string]any{"info": map[string]any{
		"elapsed_secs": int(d.cfg.Now().Sub(d.began).Seconds()), "version": d.cfg.Version,
	}})
	return nil
}
