package service

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"drover/core"
	"drover/core/service/metric"
)

// Bounds of the ops server: it serves a few monitors, and more load must not be possible.
const (
	opsConnections = 32
	opsScrapes     = 4 // at once
	opsHeaderBytes = 8 << 10
	opsReadTimeout = 5 * time.Second
	opsTimeout     = 10 * time.Second // of one answer
	opsIdle        = 30 * time.Second
	opsClose       = 2 * time.Second // for answers under way when it stops
)

// Ops is the server of /healthz and /metrics.
type Ops struct {
	listener net.Listener
	server   *http.Server
}

// NewOps listens on address (HOST:PORT). /healthz answers 200 if all checks
// pass and else 503, with the checks by name as JSON; /metrics answers the
// metrics. Returns UNAVAILABLE if the address cannot be used.
func NewOps(address string, checks map[string]Check, metrics *metric.Set) (*Ops, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, address,
			"cannot listen on %s for /healthz and /metrics: choose another --metrics-listen address, or none", address)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", HealthHandler(checks))
	mux.Handle("GET /metrics", http.TimeoutHandler(scrapes(metrics), opsTimeout, "the metrics could not be read in time"))
	return &Ops{
		listener: netutil.LimitListener(listener, opsConnections),
		server: &http.Server{
			Handler: mux, ReadHeaderTimeout: opsReadTimeout, ReadTimeout: opsReadTimeout,
			WriteTimeout: opsTimeout + checkTimeout, IdleTimeout: opsIdle, MaxHeaderBytes: opsHeaderBytes,
		},
	}, nil
}

// scrapes answers what the metrics are, a few times at once.
func scrapes(metrics *metric.Set) http.Handler {
	free := make(chan struct{}, opsScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case free <- struct{}{}:
		default:
			http.Error(w, "too many scrapes at once", http.StatusServiceUnavailable)
			return
		}
		defer func() { <-free }()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(metrics.Text()) // into the memory of TimeoutHandler
	})
}

// Addr is the address it listens on, with the port that a port of 0 became.
func (o *Ops) Addr() string { return o.listener.Addr().String() }

// Service is the server's loop.
func (o *Ops) Service() Service { return Service{Name: "ops server", Run: o.run} }

// Close frees the address of a server whose loop was never started.
func (o *Ops) Close() error { return o.listener.Close() }

func (o *Ops) run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- o.server.Serve(o.listener) }()
	select {
	case err := <-served:
		return core.Wrap(err, core.CodeUnavailable, o.Addr(), "the server of /healthz and /metrics on %s broke", o.Addr())
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), opsClose)
	defer cancel()
	if o.server.Shutdown(stopping) != nil {
		_ = o.server.Close() // answers that take too long are cut off; nothing is lost with them
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body) // the reader has gone away
}
