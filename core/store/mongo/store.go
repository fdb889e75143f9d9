package mongo

import (
	"context"
	"errors"
	"sync"
	"time"

	"drover/core"
	"drover/core/school"
	"drover/core/service/clock"

	driver "go.mongodb.org/mongo-driver/v2/mongo"
)

// Options are a Store's settings.
type Options struct {
	Clock   clock.Clock   // default: the machine's
	Timeout time.Duration // of one operation on the server, retries included; default 20 s
	Select  time.Duration // for finding a server that accepts writes; default 5 s

	Existing bool // an empty database is no store: none is made
}

// Store is a school.ResultStore in a database. It is safe for concurrent use.
type Store struct {
	name     string // for people: hosts and database, without user and password
	password string
	clock    clock.Clock
	timeout  time.Duration
	openedAt int // the schema that it had when it was opened

	client *driver.Client
	db     *driver.Database
	slots  chan struct{} // one for each connection

	closing sync.Once
	failed  error // error of Close
}

var _ school.ResultStore = (*Store)(nil)

// closeTimeout is how long Close waits for other calls in progress.
const closeTimeout = 5 * time.Second

// Open connects to the database that a URL names, and makes a store of an empty one. Returns INVALID for an invalid URL,
// NOTFOUND if the store must exist and does not, VERSION if a newer drover wrote the database or it has to be migrated
// first, UNAVAILABLE.
func Open(ctx context.Context, url string, opts Options) (*Store, error) {
	if opts.Existing {
		return open(ctx, url, opts, useOnly)
	}
	return open(ctx, url, opts, makeNew)
}

// Migrate brings a store to this program's schema, if the caller agrees. Returns the schema before and the present one,
// and errors as Open does.
func Migrate(ctx context.Context, url string, opts Options, agreed func(its map[core.Binding]string) error) (from, to int, err error) {
	s, err := connect(url, opts)
	if err != nil {
		return 0, 0, err
	}
	its, err := s.Bindings(ctx)
	if err == nil {
		err = agreed(its)
	}
	if err == nil {
		err = s.migrate(ctx, bringUp)
	}
	return s.openedAt, len(migrations), errors.Join(err, s.Close())
}

func open(ctx context.Context, url string, opts Options, may migrating) (*Store, error) {
	s, err := connect(url, opts)
	if err != nil {
		return nil, err
	}
	if err := s.migrate(ctx, may); err != nil {
		_ = s.Close() // the first error says more
		return nil, err
	}
	return s, nil
}

func connect(url string, opts Options) (*Store, error) {
	if opts.Clock == nil {
		opts.Clock = clock.Real{}
	}
	if opts.Timeout == 0 {
		opts.Timeout = 20 * time.Second
	}
	if opts.Select == 0 {
		opts.Select = 5 * time.Second
	}
	to, err := parse(url, opts)
	if err != nil {
		return nil, err
	}
	s := &Store{name: to.name, password: to.password, clock: opts.Clock, timeout: opts.Timeout, slots: make(chan struct{}, to.connections)}
	if s.client, err = driver.Connect(to.client); err != nil {
		return nil, s.fault(err)
	}
	s.db = s.client.Database(to.database)
	return s, nil
}

// Close ends the connections. Later calls return UNAVAILABLE.
func (s *Store) Close() error {
	s.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		s.failed = s.fault(s.client.Disconnect(ctx))
	})
	return s.failed
}

// Ping writes a small document. Returns UNAVAILABLE if that fails.
func (s *Store) Ping(ctx context.Context) error {
	return s.put(ctx, meta, "ping", m{"at": s.now()})
}

// ID names the store, see school.ResultStore.
func (s *Store) ID(ctx context.Context) (string, error) {
	doc, ok, err := one[identity](ctx, s, meta, m{"_id": "store"})
	if err == nil && !ok {
		err = core.Errorf(core.CodeInvalid, s.name, "result store %s has lost its name: restore a backup", s.name)
	}
	return doc.Name, err
}

// identity is the document with the store's id.
type identity struct {
	ID   string `bson:"_id"`
	Name string `bson:"name"`
}

// in returns a collection.
func (s *Store) in(name string) *driver.Collection { return s.db.Collection(name) }

// now returns the store's time in ms since 1970.
func (s *Store) now() int64 { return s.clock.Now().UnixMilli() }
