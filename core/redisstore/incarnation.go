package redisstore

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// life is one life of the server. What was acknowledged in it is still there; what was
// acknowledged in another one may not be. It ends with a restart, and with a promotion:
// a replica that becomes the primary may lack the last second, and so may a former primary
// that is promoted again, though it was up all the time.
type life struct {
	incarnation string
	start       int64     // ms; when it was first seen to serve
	grown       time.Time // by our clock; until then what it gives may have ended
}

// servers is what a store knows of the server's life, and whether it is sure of it.
//
// Every connection of the repeating client asks when it begins. One that stays may come to
// lead to another incarnation without a word: its server was demoted and promoted again, or its
// node of a Redis Cluster took our slot over. So whatever else than an answer or a refusal comes
// back is a doubt, and a script that names the life asks again before it is sent.
type servers struct {
	now     atomic.Pointer[life]
	doubts  atomic.Int64
	settled atomic.Int64  // doubts that a look came after
	looking chan struct{} // holds one while somebody looks
}

// noteLife learns, on every new connection, which life of the server it leads to.
func (s *Store) noteLife(ctx context.Context, cn *redis.Conn) error {
	if s.opts.Incarnation != "" {
		s.served.now.CompareAndSwap(nil, &life{incarnation: s.opts.Incarnation, start: s.opts.Born.UnixMilli(), grown: s.opts.Born.Add(leastYouth)})
		return nil
	}
	_, err := s.look(ctx, cn)
	return err
}

// look asks at a server which incarnation it is in, and reports whether it could tell: in a Redis Cluster
// only the node that has our keys can. A replica is refused: what is read there is of the past.
func (s *Store) look(ctx context.Context, at redis.Cmdable) (bool, error) {
	ctx = context.WithValue(ctx, isLook{}, true)
	if s.link.cluster != nil {
		err := at.Exists(ctx, s.space.Key("meta")).Err()
		if _, moved := redis.IsMovedError(err); moved {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	text, err := at.Info(ctx, "server", "replication").Result()
	if err != nil {
		return false, err
	}
	run, data := infoField(text, "run_id"), infoField(text, "master_replid")
	switch {
	case run == "" || data == "":
		return false, core.Errorf(core.CodeUnavailable, "", "this Redis does not say its run id and replication id in INFO")
	case infoField(text, "role") != "master":
		return false, core.Errorf(core.CodeUnavailable, "",
			"this Redis is a replica: name the primary, or its Sentinels with redis+sentinel://")
	case s.link.cluster == nil && infoField(text, "redis_mode") == "cluster":
		return false, core.Errorf(core.CodeInvalid, "", "this Redis is a node of a Redis Cluster: name it redis+cluster://host:port")
	}
	const enough = 20 // digits of 40: the run id says who it is, the replication id whose data it has
	incarnation := run[:min(enough, len(run))] + "." + data[:min(enough, len(data))]
	if old := s.served.now.Load(); old != nil && old.incarnation == incarnation {
		return true, nil
	}
	its, err := scripts["incarnation"]().Run(ctx, at, []string{s.space.Key("meta")}, incarnation, leastYouth.Milliseconds(), mostYouth.Milliseconds()).Int64Slice()
	if err != nil {
		return false, err
	}
	if len(its) != 2 { //nolint:mnd // when it began, and how long it is young
		return false, core.Errorf(core.CodeInternal, "", "the life script answered %d parts", len(its))
	}
	s.served.now.Store(&life{incarnation: incarnation, start: its[0], grown: time.Now().Add(time.Duration(its[1]) * time.Millisecond)})
	return true, nil
}

// isLook marks the calls of a look: they ask, and raise no doubt.
type isLook struct{}

// doubt notes that the server may be in another incarnation than the one we know.
func (s *Store) doubt() { s.served.doubts.Add(1) }

// sure looks again if there is a doubt.
func (s *Store) sure(ctx context.Context, at redis.Cmdable) error {
	if s.served.doubts.Load() == s.served.settled.Load() || ctx.Value(isLook{}) != nil || s.opts.Incarnation != "" {
		return nil
	}
	select {
	case s.served.looking <- struct{}{}:
		defer func() { <-s.served.looking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	doubts := s.served.doubts.Load()
	if doubts == s.served.settled.Load() {
		return nil
	}
	told, err := s.look(ctx, at)
	if told {
		s.served.settled.Store(doubts)
	}
	return err
}

func (s *Store) incarnation() string { return s.served.now.Load().incarnation }

// An incarnation is young for as long again as its memory is old, within these bounds. A Redis that was
// set back gives out once more what has ended since: in the order in which it was given out before, and
// faster, because nothing of it is run.
const (
	leastYouth = 10 * time.Minute
	mostYouth  = 7 * 24 * time.Hour
)

// young reports whether what Redis gives out may have ended, which it was made to forget.
func (s *Store) young() bool { return time.Now().Before(s.served.now.Load().grown) }

func (s *Store) born() int64 { return s.served.now.Load().start }

// served is the life of the server as an argument of a script. It is read when the call is
// written to its connection, and not before: until then the connection may be another one,
// that leads to another incarnation.
type served struct {
	s     *Store
	since bool // when it began, and not which it is
}

// MarshalBinary implements encoding.BinaryMarshaler: so the client writes it.
func (a served) MarshalBinary() ([]byte, error) { return []byte(a.String()), nil }

// String implements fmt.Stringer.
func (a served) String() string {
	if a.since {
		return strconv.FormatInt(a.s.born(), 10)
	}
	return a.s.incarnation()
}

// wary is the hook of a client that talks to one server.
type wary struct {
	sure  func(context.Context) error // before a script is sent
	doubt func()                      // after something else than an answer
}

// watched makes a client of one server keep an eye on that one's life.
func (s *Store) watched(c *redis.Client) *redis.Client {
	c.AddHook(wary{func(ctx context.Context) error { return s.sure(ctx, c) }, s.doubt})
	return c
}

// watchedNodes does so with every node of a Redis Cluster, and asks anew who has our slot when one
// fails. The client itself asks only once a minute. A client whose calls name no life looks for none.
func (s *Store) watchedNodes(c *redis.ClusterClient, looks bool) *redis.ClusterClient {
	c.OnNewNode(func(node *redis.Client) {
		w := wary{func(context.Context) error { return nil }, func() { c.ReloadState(context.Background()) }}
		if looks {
			w.sure = func(ctx context.Context) error { return s.sure(ctx, node) }
			w.doubt = func() {
				s.doubt()
				c.ReloadState(context.Background())
			}
		}
		node.AddHook(w)
	})
	return c
}

// DialHook implements redis.Hook.
func (wary) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook implements redis.Hook.
func (w wary) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if name := cmd.Name(); name == "evalsha" || name == "eval" {
			if err := w.sure(ctx); err != nil {
				w.doubt()
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if ctx.Value(isLook{}) == nil {
			w.heard(err)
		}
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (w wary) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		w.heard(err)
		return err
	}
}

// heard takes what came back: an answer and a script's refusal are what a server in its right
// life says.
func (w wary) heard(err error) {
	if err == nil || errors.Is(err, redis.Nil) {
		return
	}
	var refused redis.Error
	if errors.As(err, &refused) {
		word, _, _ := strings.Cut(refused.Error(), " ")
		if _, ours := sentences[core.Code(word)]; ours || word == "OOM" || word == "NOSCRIPT" {
			return
		}
	}
	w.doubt()
}
