package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/net/netutil"

	"drover/core"
	"drover/core/service"
)

// Bounds of the server. Uploads and streams of events take longer than its time limits,
// so they set their own, see Timeout.
const (
	maxConnections = 4096
	headerBytes    = 16 << 10
	headerTimeout  = 10 * time.Second
	readTimeout    = 30 * time.Second
	writeTimeout   = 60 * time.Second
	idleTimeout    = 2 * time.Minute
	closeTimeout   = 5 * time.Second // for answers in progress when it stops
)

// Server is the web's server.
type Server struct {
	listener net.Listener
	server   *http.Server
	stop     context.CancelFunc // ends streams
}

// Listen listens on address (HOST:PORT), by TLS if it is given a certificate. Faults of connections are logged. Returns
// UNAVAILABLE if the address cannot be used.
func Listen(address string, certificate *tls.Certificate, log logrus.FieldLogger) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, address, "the web cannot listen on %s: choose another --listen address", address)
	}
	listener = netutil.LimitListener(listener, maxConnections)
	if certificate != nil {
		listener = tls.NewListener(listener, &tls.Config{
			Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		})
	}
	live, stop := context.WithCancel(context.Background())
	return &Server{
		listener: listener, stop: stop,
		server: &http.Server{
			ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
			IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes,
			ErrorLog:    stdlog.New(faults{log}, "", 0), //nolint:forbidigo // net/http takes no other kind
			BaseContext: func(net.Listener) context.Context { return live },
		},
	}, nil
}

// faults logs what net/http would print by itself.
type faults struct{ log logrus.FieldLogger }

// Write implements io.Writer.
func (f faults) Write(line []byte) (int, error) {
	f.log.Warn(string(bytes.TrimSpace(line)))
	return len(line), nil
}

// Addr is the address it listens on, with the port that a port of 0 became.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close releases the address of a server that is never run.
func (s *Server) Close() error {
	s.stop()
	return s.listener.Close()
}

// Service is the loop that answers with handler.
func (s *Server) Service(handler http.Handler) service.Service {
	s.server.Handler = handler
	return service.Service{Name: "web", Run: s.run}
}

func (s *Server) run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return core.Wrap(err, core.CodeUnavailable, s.Addr(), "the web does not answer on %s any more", s.Addr())
	case <-ctx.Done():
	}
	s.stop()
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := s.server.Shutdown(wait)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.server.Close()
	}
	if served := <-ended; err == nil && !errors.Is(served, http.ErrServerClosed) {
		err = served
	}
	return core.Wrap(err, core.CodeUnavailable, s.Addr(), "the web's server does not stop")
}
