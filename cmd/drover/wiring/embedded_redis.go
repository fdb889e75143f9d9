package wiring

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"drover/core"
)

// embeddedRedis is a Redis in this process. It keeps nothing: waiting work is queued again from the result store at
// the next start. It listens on a socket in a folder that only its owner may enter.
type embeddedRedis struct {
	mini     *miniredis.Miniredis
	listener net.Listener
	accept   sync.WaitGroup
}

// EmbeddedMode is redis_mode in its INFO, by which doctor recognizes it.
const EmbeddedMode = "embedded"

func startEmbeddedRedis(dir string) (*embeddedRedis, error) {
	path := filepath.Join(dir, "redis.sock")
	// A socket of a killed cluster is in the way; the cluster's lock shows that no other one lives.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, core.Wrap(err, core.CodeUnavailable, path, "the socket %s of an earlier cluster cannot be removed", path)
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, path, "the embedded Redis cannot listen on %s", path)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(core.Wrap(err, core.CodeUnavailable, path, "the socket %s cannot be closed to others", path), l.Close())
	}
	e := &embeddedRedis{mini: miniredis.NewMiniRedis(), listener: l}
	e.mini.ClockTTL(true) // otherwise live output would never expire
	// The first Dial starts the server without a port.
	first, err := e.mini.Dial()
	if err != nil {
		return nil, errors.Join(core.Wrap(err, core.CodeInternal, "", "the embedded Redis cannot start"), l.Close())
	}
	if err := first.Close(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	e.mini.Server().SetPreHook(infoServer(rand.Text(), time.Now()))
	e.accept.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			e.mini.Server().ServeConn(conn)
		}
	})
	return e, nil
}

// infoServer answers INFO of server and replication like Redis, which miniredis does not.
func infoServer(runID string, born time.Time) server.Hook {
	return func(c *server.Peer, cmd string, args ...string) bool {
		if !strings.EqualFold(cmd, "INFO") || len(args) == 0 || !strings.EqualFold(args[0], "server") {
			return false
		}
		c.WriteBulk(fmt.Sprintf("# Server\r\nredis_version:7.0.0\r\nredis_mode:%s\r\nrun_id:%s\r\nuptime_in_seconds:%d\r\n"+
			"# Replication\r\nrole:master\r\nmaster_replid:%s\r\n",
			EmbeddedMode, runID, int(time.Since(born).Seconds()), runID))
		return true
	}
}

func (e *embeddedRedis) close() {
	_ = e.listener.Close() // no more connections; nothing is lost
	e.accept.Wait()
	e.mini.Close()
}
