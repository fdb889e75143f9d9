package redisserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"drover/core"
	"drover/core/service/guard"

	"github.com/redis/go-redis/v9"
)

// Failover is a primary with replicas, and three Sentinels that watch them.
type Failover struct {
	Servers   []*Server // the first one began as the primary
	Sentinels []*Server
}

// PrimaryName is what the Sentinels call the primary.
const PrimaryName = "cluster"

const sentinels = 3

// sentinelFile has times short enough for a test: a second of silence is a failure.
const sentinelFile = `sentinel monitor %[1]s 127.0.0.1 %[2]s 2
sentinel down-after-milliseconds %[1]s 1000
sentinel failover-timeout %[1]s 3000
sentinel parallel-syncs %[1]s 1
`

// StartFailover starts them all, the servers with more settings, and returns once every
// replica follows and the Sentinels know all of them and one another.
func StartFailover(ctx context.Context, replicas int, settings ...string) (*Failover, error) {
	f := &Failover{}
	for i := range 1 + replicas {
		more := settings
		if i > 0 {
			host, port, _ := net.SplitHostPort(f.Servers[0].Addr)
			// The primary sends at once what a new replica needs, and replicas ask again soon.
			more = append([]string{"--replicaof", host + " " + port}, settings...)
		}
		s, err := listening(ctx, "", append([]string{"--repl-diskless-sync-delay", "0"}, more...)...)
		if err != nil {
			return nil, errors.Join(err, f.Stop())
		}
		f.Servers = append(f.Servers, s)
	}
	_, port, _ := net.SplitHostPort(f.Servers[0].Addr)
	for range sentinels {
		s, err := listening(ctx, fmt.Sprintf(sentinelFile, PrimaryName, port), "--sentinel")
		if err != nil {
			return nil, errors.Join(err, f.Stop())
		}
		f.Sentinels = append(f.Sentinels, s)
	}
	if err := f.await(ctx, replicas); err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	return f, nil
}

// await returns once all know all.
func (f *Failover) await(ctx context.Context, replicas int) error {
	for _, s := range f.Sentinels {
		c := redis.NewSentinelClient(&redis.Options{Network: "unix", Addr: s.Socket})
		err := guard.Eventually(ctx, "the Sentinels do not find all servers and one another", func() error {
			its, err := c.Master(ctx, PrimaryName).Result()
			if err == nil && (its["num-slaves"] != strconv.Itoa(replicas) || its["num-other-sentinels"] != strconv.Itoa(sentinels-1)) {
				err = fmt.Errorf("%s replicas, %s other Sentinels", its["num-slaves"], its["num-other-sentinels"])
			}
			return err
		})
		if err := errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	return nil
}

// URL names the Sentinels.
func (f *Failover) URL() string {
	u := "redis+sentinel://" + f.Sentinels[0].Addr + "?master_name=" + PrimaryName
	for _, s := range f.Sentinels[1:] {
		u += "&addr=" + s.Addr
	}
	return u
}

// Stop kills all and removes their folders.
func (f *Failover) Stop() error {
	for _, s := range append(f.Sentinels, f.Servers...) {
		_ = s.Stop() // each reports its own violent end
	}
	return nil
}

// The ports that servers listen on lie below those that the kernel gives out by itself. A killed server keeps its port so: another program that was given it and
// answered as Redis does would be taken for the server, and its Sentinels would see no failure.
const (
	firstPort = 12_000
	lastPort  = 22_000
)

// listening starts a server that listens on a free port of the loopback as well. Another
// program may take the port first; then another one is tried.
func listening(ctx context.Context, file string, settings ...string) (*Server, error) {
	var last error
	for range 20 {
		port := strconv.Itoa(firstPort + rand.IntN(lastPort-firstPort)) //nolint:gosec // a port is no secret
		addr := net.JoinHostPort("127.0.0.1", port)
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			last = core.Wrap(err, core.CodeUnavailable, "", "there is no free port")
			continue
		}
		if err := l.Close(); err != nil {
			return nil, core.Wrap(err, core.CodeUnavailable, "", "there is no free port")
		}
		s, err := start(ctx, file, append([]string{"--port", port, "--bind", "127.0.0.1"}, settings...)...)
		if err == nil {
			s.Addr = addr
			return s, nil
		}
		last = err
	}
	return nil, last
}
