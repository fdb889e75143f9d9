package tango

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/sirupsen/logrus"

	"drover/core"
	"drover/core/requests"
	"drover/core/webhook"
	"drover/web/caller"
	"drover/web/compat"
	"drover/web/services"
)

// Settings are this compatible API's own settings.
type Settings struct {
	Keys      compat.Keys // authenticates tokens: a session.Keeper
	Cache     core.Cache
	Images    map[string]string // image → pool; any other image is the pool of its own name
	Keep      time.Duration     // for how long folders' content is kept; less than the age at which unused files are deleted. 0: 12 h
	MaxFile   int64             // bytes of an upload; 0: 100 MiB
	Bytes     int64             // that a user may send in half a day; 0: compat.DefaultBytes
	Callbacks webhook.Addresses // where callbacks may be sent
	Version   string
}

// API implements Tango's interface.
type API struct {
	own      Settings
	requests *requests.Service
	gate     *compat.Gate
	mux      *http.ServeMux
	now      func() time.Time
	began    time.Time
	log      logrus.FieldLogger
}

const (
	defaultKeep = 12 * time.Hour
	defaultFile = 100 << 20
)

// New makes the compatible API.
func New(p services.Deps, own Settings) *API {
	own.Keep, own.MaxFile = cmp.Or(own.Keep, defaultKeep), cmp.Or(own.MaxFile, defaultFile)
	d := &API{own: own, requests: p.Requests, gate: compat.NewGate(p, own.Keys, own.Bytes), mux: http.NewServeMux(), now: p.Now, log: p.Log}
	if d.now == nil {
		d.now = time.Now
	}
	d.began = d.now()
	for _, r := range Routes() {
		d.mux.HandleFunc(r.Method+" "+r.Path, func(w http.ResponseWriter, req *http.Request) { d.serve(r, w, req) })
	}
	d.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { d.say(w, 0, "drover answers as Tango does") })
	d.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		d.say(w, bad, "there is nothing here: docs/migrate.md lists what this compatible API does")
	})
	return d
}

// ServeHTTP serves a request whose path begins after the compatible API's own.
func (d *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.mux.ServeHTTP(w, r) }

// call is one authenticated call.
type call struct {
	who *caller.Caller
	key string
	lab string // courselab; "" if the path has none
}

// bad is the statusId of every failure.
const bad = -1

// refusal is an error in Tango's words.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(text string) error { return &refusal{text} }

func (d *API) serve(route Route, w http.ResponseWriter, r *http.Request) {
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

// enter authenticates the caller.
func (d *API) enter(route Route, r *http.Request) (*call, error) {
	key := r.PathValue("key")
	who, err := d.gate.Enter(r, key, route.Scope, route.Action)
	if err != nil {
		return nil, err
	}
	lab := r.PathValue("courselab")
	if len(lab) > maxLab {
		return nil, refuse("the name of the courselab is too long")
	}
	return &call{who, key, lab}, nil
}

// fail answers an error.
func (d *API) fail(w http.ResponseWriter, r *http.Request, route Route, err error) {
	var own *refusal
	var large *http.MaxBytesError
	var much *compat.TooMuch
	text := err.Error()
	switch {
	case errors.As(err, &own):
	case errors.Is(err, compat.ErrKey):
		text = "Key not recognized"
	case errors.As(err, &much):
		w.Header().Set("Retry-After", strconv.Itoa(int(much.Retry/time.Second)+1))
		w.WriteHeader(http.StatusTooManyRequests)
		text = much.Error()
	case errors.As(err, &large):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		text = "the body is larger than " + strconv.FormatInt(large.Limit, 10) + " bytes"
	case errors.Is(err, compat.ErrSlow):
		w.WriteHeader(http.StatusRequestTimeout)
		text = compat.ErrSlow.Error()
	case core.Is(err, core.CodeInternal), core.Is(err, core.CodeUnavailable), core.Is(err, core.CodeBusy):
		if r.Context().Err() == nil {
			d.log.WithError(err).WithField("route", route.Path).Warn("the Tango API failed")
		}
		text = "drover cannot do that now: try again later"
	}
	d.say(w, bad, text)
}

// say answers with a status only.
func (d *API) say(w http.ResponseWriter, id int, text string) { d.answer(w, id, text, nil) }

// answer writes JSON.
func (d *API) answer(w http.ResponseWriter, id int, text string, more map[string]any) {
	body := map[string]any{"statusId": id, "statusMsg": text}
	for name, value := range more {
		body[name] = value
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body) // the caller has gone away
}

func (d *API) info(w http.ResponseWriter, _ *http.Request, _ *call) error {
	d.answer(w, 0, "Found info successfully", map[string]any{"info": map[string]any{
		"elapsed_secs": int(d.now().Sub(d.began).Seconds()), "version": d.own.Version,
	}})
	return nil
}
