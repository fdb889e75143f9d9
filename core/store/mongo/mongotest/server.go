// Package mongotest starts servers that speak MongoDB's protocol for tests: FerretDB on
// SQLite, built from scripts/ferretdb. MONGO_URL names a real mongod to test on instead.
package mongotest

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"drover/core/coretest"
	"drover/core/coretest/tier"
	"drover/core/service/guard"
)

// Server is one whose death and silence a test may order. It dies with this process.
type Server struct {
	Socket string
	*guard.Guard
}

// Start starts a server with a folder of its own and more flags of scripts/ferretdb.
func Start(flags ...string) (*Server, error) {
	program, err := build()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "drover-mongo-")
	if err != nil {
		return nil, err
	}
	s := &Server{Socket: filepath.Join(dir, "m.sock")} // drivers know a socket by its end
	if s.Guard, err = guard.Start("ferretdb", program, dir, append([]string{"-dir", dir, "-listen", s.Socket}, flags...)...); err != nil {
		return nil, err
	}
	if err := s.Await(context.Background(), s.Socket); err != nil {
		_ = s.Stop() // the first fault says more
		return nil, err
	}
	return s, nil
}

// Restart starts a killed server again on the same data and returns once it answers.
func (s *Server) Restart(ctx context.Context) error {
	if err := os.Remove(s.Socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	if err := s.Again(); err != nil {
		return err
	}
	return s.Await(ctx, s.Socket)
}

// URL names a database on the server.
func (s *Server) URL(database string) string { return URL(s.Socket, database) }

// URL names a database on whatever listens on the unix socket.
func URL(socket, database string) string {
	return "mongodb://" + url.PathEscape(socket) + "/" + database
}

// Alone starts a server for this test, which may stop it.
func Alone(t testing.TB, flags ...string) *Server {
	t.Helper()
	tier.Need(t, tier.Mongo)
	s, err := Start(flags...)
	if err != nil {
		coretest.Missing(t, "FerretDB", err)
	}
	t.Cleanup(func() { _ = s.Stop() }) // it reports its own violent end
	return s
}

// Database returns the URL of an empty database of the test's own, on a server that the tests
// of the package share, or on the one that MONGO_URL names. Who opened it drops it.
func Database(t testing.TB) string {
	t.Helper()
	tier.Need(t, tier.Mongo)
	name := "drover-test-" + strings.ToLower(rand.Text()[:12])
	if real := os.Getenv("MONGO_URL"); real != "" {
		place, options, _ := strings.Cut(real, "?")
		scheme, hosts, _ := strings.Cut(place, "://")
		hosts, _, _ = strings.Cut(hosts, "/")
		return scheme + "://" + hosts + "/" + name + "?" + options // net/url knows no list of hosts
	}
	s, err := shared()
	if err != nil {
		coretest.Missing(t, "FerretDB", err)
	}
	return s.URL(name)
}

// shared is the one server of the test binary; it ends with it.
var shared = sync.OnceValues(func() (*Server, error) { return Start() })
