package redisstore

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// life is one incarnation of the server. Whatever was acknowledged in it is still there; data acknowledged in another
// incarnation may be missing. An incarnation ends with a restart and with a promotion: a replica that becomes the
// primary may lack the last second, and so may a former primary that is promoted again, although it was never down.
type life struct {
	incarnation string
	start       int64     // ms; when it was first seen serving
	grown       time.Time // by our clock; until then requests that it gives out may have ended
}

// servers holds what a store knows of the server's incarnation, and whether that may have changed.
//
// Every connection of the repeating client checks the incarnation when it begins. A connection that stays open may
// later lead to another incarnation without notice: its server was demoted and promoted again. So every reply other than
// an answer or a refusal raises a doubt, and a script that names the incarnation first checks again.
type servers struct {
	now     atomic.Pointer[life]
	doubts  atomic.Int64
	settled atomic.Int64  // doubts that were followed by a check
	looking chan struct{} // holds a token during a check
}

// noteLife finds out, on every new connection, to which incarnation of the server it leads.
func (s *Store) noteLife(ctx context.Context, cn *redis.Conn) error {
	if s.opts.Incarnation != "" {
		its := &life{incarnation: s.opts.Incarnation, start: s.opts.Born.UnixMilli(), grown: s.opts.Born.Add(leastYouth)}
		if s.served.now.Load() != nil {
			return nil
		}
		_, _, err := s.readClock(ctx, cn, its.incarnation, its.start)
		s.served.now.CompareAndSwap(nil, its)
		return err
	}
	return s.look(ctx, cn)
}

// look asks the server for its incarnation. A replica is refused, since its data is outdated, and so is a node of a Redis
// Cluster, which has some of the keys only.
func (s *Store) look(ctx context.Context, at redis.Cmdable) error {
	ctx = context.WithValue(ctx, isLook{}, true)
	text, err := at.Info(ctx, "server", "replication").Result()
	if err != nil {
		return err
	}
	run, data := infoField(text, "run_id"), infoField(text, "master_replid")
	switch {
	case run == "" || data == "":
		return core.Errorf(core.CodeUnavailable, "", "this Redis does not say its run id and replication id in INFO")
	case infoField(text, "role") != "master":
		return core.Errorf(core.CodeUnavailable, "",
			"this Redis is a replica: name the primary, or its Sentinels with redis+sentinel://")
	case infoField(text, "redis_mode") == "cluster":
		return core.Errorf(core.CodeInvalid, "", "this Redis is a node of a Redis Cluster: name one that is none, or its Sentinels with redis+sentinel://")
	}
	const enough = 20 // digits of 40: the run id identifies the process, the replication id its data
	incarnation := run[:min(enough, len(run))] + "." + data[:min(enough, len(data))]
	if old := s.served.now.Load(); old != nil && old.incarnation == incarnation {
		return nil
	}
	its, youth, err := s.readClock(ctx, at, incarnation, "")
	if err != nil {
		return err
	}
	s.served.now.Store(&life{incarnation: incarnation, start: its.Began, grown: time.Now().Add(max(0, youth-its.Age(its.Began)))})
	return nil
}

// readClock records the incarnation that a connection leads to, and reads what ages are told by, and for how long that
// incarnation is young.
func (s *Store) readClock(ctx context.Context, at redis.Cmdable, incarnation string, since any) (core.RedisClock, time.Duration, error) {
	its, err := scripts["incarnation"]().Run(ctx, at, []string{s.space.Key("meta")}, incarnation, leastYouth.Milliseconds(), mostYouth.Milliseconds(), since).Int64Slice()
	if err != nil {
		return core.RedisClock{}, 0, err
	}
	return toClock(its)
}

// ReadClock implements core.Queue.
func (s *Store) ReadClock(ctx context.Context) (core.RedisClock, error) {
	reply, err := s.run(ctx, "incarnation", "", served{s: s}, leastYouth.Milliseconds(), mostYouth.Milliseconds(), "")
	if err != nil {
		return core.RedisClock{}, err
	}
	all := list(reply)
	its := make([]int64, len(all))
	for i, one := range all {
		its[i] = num(one)
	}
	c, _, err := toClock(its)
	return c, err
}

// toClock reads the reply of the script incarnation.
func toClock(its []int64) (core.RedisClock, time.Duration, error) {
	const width = 5 // before the gaps
	if len(its) < width {
		return core.RedisClock{}, 0, core.Errorf(core.CodeInternal, "", "the incarnation script answered %d parts", len(its))
	}
	c := core.RedisClock{Now: its[0], Began: its[1], SetBack: its[3], Silent: its[4]}
	for gap := range slices.Chunk(its[width:], 2) {
		c.Gaps = append(c.Gaps, core.Gap{To: gap[0], Lasted: time.Duration(gap[1]) * time.Millisecond})
	}
	return c, time.Duration(its[2]) * time.Millisecond, nil
}

// isLook marks the calls of look, which raise no doubt themselves.
type isLook struct{}

// doubt records that the server may be in another incarnation than the known one.
func (s *Store) doubt() { s.served.doubts.Add(1) }

// sure checks the incarnation again if there is a doubt.
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
	err := s.look(ctx, at)
	if err == nil {
		s.served.settled.Store(doubts)
	}
	return err
}

// Recalled implements core.Queue.
func (s *Store) Recalled(ctx context.Context) (bool, error) {
	if s.opts.ComeBack < 0 {
		return true, nil
	}
	c, err := s.ReadClock(ctx)
	return err == nil && c.UnreportedFor(c.Began) >= s.opts.ComeBack, err
}

func (s *Store) incarnation() string { return s.served.now.Load().incarnation }

// An incarnation is young for as long as its data is old, within these bounds. A Redis that was set back gives out
// again the requests that have ended since: in the same order as before, but faster, because none of them is run.
const (
	leastYouth = 10 * time.Minute
	mostYouth  = 7 * 24 * time.Hour
)

// young reports whether requests that Redis gives out may have ended already, because Redis was set back.
func (s *Store) young() bool { return time.Now().Before(s.served.now.Load().grown) }

func (s *Store) born() int64 { return s.served.now.Load().start }

// served is the incarnation of the server as an argument of a script. It is read only when the call is written to its
// connection: the client may have switched to a connection that leads to another incarnation.
type served struct {
	s     *Store
	since bool // the argument is when the incarnation began, instead of its name
}

// MarshalBinary implements encoding.BinaryMarshaler: the client writes arguments by it.
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
	doubt func()                      // called after a reply that is neither an answer nor a refusal
}

// watched makes a client of one server check the server's incarnation.
func (s *Store) watched(c *redis.Client) *redis.Client {
	c.AddHook(wary{func(ctx context.Context) error { return s.sure(ctx, c) }, s.doubt})
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

// heard inspects a reply: only an answer and a script's refusal show that the server is in the known incarnation.
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
