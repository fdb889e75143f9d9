// Package redisstore implements core's queues, claims, owners, VMs and hosts on Redis. Every change of state is one
// Lua script (lua/*.lua) that checks first and writes last. It is safe to run twice, because the client repeats calls
// by itself. Every key is defined in keys.go.
//
// # Where a request waits
//
// An accepted request that no owner has claimed is in exactly one of four places: its submitter's queue; after a
// fault, the list of those whose pause is not over; assigned to one host; parked, because no living host could run
// it. A claim first takes what is assigned to its host, then what is parked, then from the queues (lib/dequeue.lua).
// The records in evacuations only say how far a move has come: the places decide where a request is.
//
// # What can go wrong with moves
//
//	two overseers place at once      a settle that assigns names the version of the state in which it saw room (meta
//	                                 placed); the second is refused and reads again. What it moved already is out of
//	                                 its slots and does no harm
//	an overseer dies in between      each slot is settled whole or not at all; the owner stays fenced and listed as
//	                                 late until it is empty, so that another overseer continues
//	the host assigned to dies, is    what was assigned to it goes back to the front of its queues, in its order
//	drained, reported failed, or put
//	on probation
//	it lives and does not take it    unassign, by the age of the record
//	the request is cancelled         withdraw finds it in all four places; a claim that comes first sees the mark
//	a revoke meets another slot      it names the slot's text as it was read: CONFLICT; an empty slot is a success
//	the revoked owner goes on        its token is over: its finish moves nothing, its worker is notified
//	a living process is declared     only the named epoch ends; the process gets FENCED and registers again
//	dead
//	the pool is paused               assigned and parked requests wait, like those in the queue
//	Redis was set back               places and records are of one moment, and agree
//	Redis was wiped                  requests come back from the result store without records of faults, deaths and
//	                                 moves; hosts reported failed or on probation are trusted again
package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"drover/core"

	"github.com/redis/go-redis/v9"
)

// Schema is the version of keys and scripts. Programs of different schemas refuse to share a namespace. It grows
// whenever a key, its type or its content changes.
const Schema = 14

// Options are a Store's settings.
type Options struct {
	URL       string // redis://, rediss:// or unix:// as go-redis reads them, redis+sentinel://
	Namespace string // default "drover"

	MaxWaiting   int   // accepted, unfinished requests in all; default 1,000,000
	MaxSpecBytes int64 // bytes that their specs may take, including their keys and 96 bytes each for the hash; default 1 GiB
	// MaxOutputBytes bounds the live output of all claims; each submitter may use an eighth of it. Default 256 MiB.
	MaxOutputBytes int64

	// ComeBack is the time that owners have to come back after Redis lost its memory or was set back; until then what it
	// does not have may be running. 0: five seconds, after which an owner counts as down, or none if the server is embedded;
	// below 0: none.
	ComeBack time.Duration

	// Incarnation names this incarnation of a server that does not report one itself (an embedded one). Empty: the
	// server's own run id and replication id.
	Incarnation string
	// Born is when that incarnation began; it goes with Incarnation.
	Born time.Time
}

// Store implements core.Queue, Claims, Owners, VMs, Hosts, Pools, Output, Tasks, Evacuations, Reports, History, Feed,
// Limiter, Cache and Consistency on Redis. It is safe for concurrent use.
type Store struct {
	db     *redis.Client // repeats calls by itself
	once   *redis.Client // for calls that must not be repeated, or that block
	link   link
	space  Space
	opts   Options
	served servers
}

// The interfaces that a Store implements.
var (
	_ core.Queue       = (*Store)(nil)
	_ core.Claims      = (*Store)(nil)
	_ core.Owners      = (*Store)(nil)
	_ core.VMs         = (*Store)(nil)
	_ core.Hosts       = (*Store)(nil)
	_ core.Pools       = (*Store)(nil)
	_ core.Output      = (*Store)(nil)
	_ core.Tasks       = (*Store)(nil)
	_ core.Consistency = (*Store)(nil)

	_ core.Evacuations = (*Store)(nil)
	_ core.Reports     = (*Store)(nil)
	_ core.History     = (*Store)(nil)
	_ core.Feed        = (*Store)(nil)
	_ core.Limiter     = (*Store)(nil)
	_ core.Cache       = (*Store)(nil)
)

// Open makes a Store and checks that the server answers and has this schema. Returns INVALID for a bad URL or
// namespace, UNAVAILABLE, VERSION.
func Open(ctx context.Context, opts Options) (*Store, error) {
	s, err := prepare(opts)
	if err != nil {
		return nil, err
	}
	if err := s.Ping(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func prepare(opts Options) (*Store, error) {
	if opts.Namespace == "" {
		opts.Namespace = "drover"
	}
	if opts.MaxWaiting == 0 {
		opts.MaxWaiting = 1_000_000
	}
	if opts.MaxSpecBytes == 0 {
		opts.MaxSpecBytes = 1 << 30
	}
	if opts.MaxOutputBytes == 0 {
		opts.MaxOutputBytes = 256 << 20
	}
	switch {
	case opts.ComeBack != 0:
	case opts.Incarnation != "": // its owners end with it
		opts.ComeBack = -1
	default:
		opts.ComeBack = 5 * time.Second
	}
	if err := core.CheckName("namespace", opts.Namespace); err != nil {
		return nil, err
	}
	l, err := parseURL(opts.URL)
	if err != nil {
		// Not wrapped: the cause could quote the URL, which may hold a password.
		return nil, core.Errorf(core.CodeInvalid, "", "the Redis URL cannot be read: %s", err.Error())
	}
	s := &Store{link: l, space: Space(opts.Namespace), opts: opts}
	s.served.looking = make(chan struct{}, 1)
	s.db, s.once = s.clients(l)
	return s, nil
}

// Ping checks that Redis answers and has this schema. Returns UNAVAILABLE or VERSION.
func (s *Store) Ping(ctx context.Context) error {
	schema, err := s.db.HGet(ctx, s.space.Key("meta"), "schema").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fault(ctx, err, "")
	}
	if schema != "" && schema != strconv.Itoa(Schema) {
		return core.Errorf(core.CodeVersion, schema,
			"namespace %s of this Redis has schema %s, this program has %d: stop the programs of the other version, or use another --namespace",
			s.space, schema, Schema)
	}
	return nil
}

// Close closes the connections.
func (s *Store) Close() error { return errors.Join(s.db.Close(), s.once.Close()) }

// Client returns the connection, for code that only reads: doctor, benchmarks, tests.
func (s *Store) Client() *redis.Client { return s.db }

// Namespace returns the prefix of every key.
func (s *Store) Namespace() Space { return s.space }

func infoField(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// run calls a script and turns its refusals into core errors about id.
func (s *Store) run(ctx context.Context, script, id string, args ...any) (any, error) {
	reply, err := scripts[script]().Run(ctx, s.db, []string{s.space.Key("meta")}, args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fault(ctx, err, id)
	}
	return reply, nil
}

// sentences explain each refusal; %s is the detail from the script.
var sentences = map[core.Code]string{
	core.CodeFenced:   "the epoch of %s is over: it was late, or another process has its name",
	core.CodeStale:    "%s is not held under that token or sequence any more",
	core.CodeNotFound: "Redis knows no %s",
	core.CodeConflict: "%s is not in a state that allows this",
	core.CodeBusy:     "the host name %s is in use by another machine that is alive: choose another with --host",
	core.CodeVersion:  "this Redis is of schema %s: stop the programs of the other version, or use another --namespace",
}

// callID returns a new name for one call, so that a script that runs twice takes effect once.
func callID() string { return rand.Text() }

func list(reply any) []any {
	l, ok := reply.([]any)
	if !ok {
		return nil
	}
	return l
}

func str(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

func num(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return 0
		}
		return n
	}
	return 0
}

// byWhom reads a reply of the form {key, who, ...}.
func byWhom(reply any) map[string]string {
	l := list(reply)
	out := make(map[string]string, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		out[str(l[i])] = str(l[i+1])
	}
	return out
}

func strs(reply any) []string {
	l := list(reply)
	out := make([]string, len(l))
	for i, v := range l {
		out[i] = str(v)
	}
	return out
}

// anys returns items as arguments.
func anys(items []string) []any {
	out := make([]any, len(items))
	for i, s := range items {
		out[i] = s
	}
	return out
}
