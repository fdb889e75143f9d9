package cells

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"
)

// Cell is one cell. Its name and Open are set once.
type Cell struct {
	Name string                                   // "" is the first
	Open func(ctx context.Context) (Redis, error) // connects to its Redis, once it is needed and answers

	mu    sync.Mutex
	redis Redis
	away  error     // of the last try to connect or of the last reading of all cells
	tried time.Time // when
}

// How long a reading of all cells waits for one of them, and for how long it does not ask a cell again that could not
// be reached.
const (
	answers = 2 * time.Second
	retry   = time.Second
)

// open returns the cell's Redis.
func (c *Cell) open(ctx context.Context) (Redis, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.redis != nil {
		return c.redis, nil
	}
	r, err := c.Open(ctx)
	if err != nil {
		c.away, c.tried = err, time.Now()
		return nil, c.unreachable(err)
	}
	c.redis, c.away = r, nil
	return r, nil
}

// unreachable names the cell in an error of its Redis.
func (c *Cell) unreachable(err error) error {
	return core.Wrap(err, core.CodeOf(err), c.Name, "the Redis of %s", core.CellText(c.Name))
}

// asked notes how a reading went.
func (c *Cell) asked(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away, c.tried = nil, time.Now(); core.Is(err, core.CodeUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		c.away = err
	}
}

// rests returns why the cell is not to be asked now; nil if it is.
func (c *Cell) rests() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := time.Since(c.tried); c.away != nil && age >= 0 && age < retry {
		return c.away
	}
	return nil
}

// Cells is the view. It implements what the services of requests and of operators need of Redis. All methods are safe
// for concurrent use.
type Cells struct {
	store Store
	all   []*Cell // the first cell first

	mu   sync.Mutex
	read time.Time
	of   map[string]*Cell // by pool
}

// New makes the view of cells, the first of which has the name "".
func New(store Store, all ...*Cell) *Cells { return &Cells{store: store, all: all} }

// Only returns the view of one cell. Returns INVALID for one that the settings do not name.
func (c *Cells) Only(name string) (*Cells, error) {
	cell, err := c.named(name)
	if err != nil {
		return nil, err
	}
	return New(c.store, cell), nil
}

// Names lists the cells, the first one first.
func (c *Cells) Names() []string {
	names := make([]string, len(c.all))
	for i, cell := range c.all {
		names[i] = cell.Name
	}
	return names
}

// Several reports whether there are other cells than the first.
func (c *Cells) Several() bool { return len(c.all) > 1 }

// Away lists the cells that did not answer when all were last asked.
func (c *Cells) Away() []string {
	var names []string
	for _, cell := range c.all {
		cell.mu.Lock()
		if cell.away != nil {
			names = append(names, cell.Name)
		}
		cell.mu.Unlock()
	}
	return names
}

// named returns a cell by its name. Returns INVALID.
func (c *Cells) named(name string) (*Cell, error) {
	for _, cell := range c.all {
		if cell.Name == name {
			return cell, nil
		}
	}
	names := make([]string, len(c.all))
	for i, cell := range c.all {
		names[i] = core.CellText(cell.Name)
	}
	return nil, core.Errorf(core.CodeInvalid, name, "%s is not in the settings; there are: %s", core.CellText(name), strings.Join(names, ", "))
}

// poolsFresh is for how long the cells of pools are cached. A pool that has left its cell meanwhile is unknown to that
// cell's Redis, which refuses its requests.
const poolsFresh = time.Second

// ofPool returns the cell that has a pool; the first if no cell does.
func (c *Cells) ofPool(ctx context.Context, pool string) (*Cell, error) {
	if len(c.all) == 1 {
		return c.all[0], nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cell, known := c.of[pool]
	if age := time.Since(c.read); !known || age < 0 || age >= poolsFresh {
		pools, err := c.store.Pools(ctx)
		if err != nil {
			return nil, err
		}
		c.of, c.read = make(map[string]*Cell, len(pools)), time.Now()
		for i := range pools {
			if its, err := c.named(pools[i].Cell); err == nil {
				c.of[pools[i].Name] = its
			} else if pools[i].Name == pool {
				return nil, core.Wrap(err, core.CodeUnavailable, pool, "pool %s", pool)
			}
		}
		if cell, known = c.of[pool]; !known {
			cell = c.all[0]
		}
	}
	return cell, nil
}

// ofKey returns the cell of a request, by its key: that of its pool.
func (c *Cells) ofKey(ctx context.Context, key string) (*Cell, error) {
	id, _, err := core.ParseKey(key)
	if err != nil || len(c.all) == 1 {
		return c.all[0], nil //nolint:nilerr // no cell has it, the first one says so
	}
	row, err := c.store.Get(ctx, id)
	if core.Is(err, core.CodeNotFound) {
		return c.all[0], nil
	}
	if err != nil {
		return nil, err
	}
	return c.ofPool(ctx, row.Spec.Pool)
}

// ofHost returns the cell that has a host; the first if none has.
func (c *Cells) ofHost(ctx context.Context, host string) (*Cell, error) {
	if len(c.all) == 1 {
		return c.all[0], nil
	}
	hosts, err := c.ListHosts(ctx)
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(hosts, func(h core.HostInfo) bool { return h.Name == host }); at >= 0 {
		return c.named(hosts[at].Cell)
	}
	return c.all[0], c.missing(host)
}

// missing returns UNAVAILABLE if a cell is away that may have what the others have not.
func (c *Cells) missing(what string) error {
	away := c.Away()
	if len(away) == 0 {
		return nil
	}
	return core.Errorf(core.CodeUnavailable, what, "no cell that answers has %s, and the Redis of %s cannot be reached", what, core.CellText(away[0]))
}

// OfPool returns the Redis of the cell that has a pool.
func (c *Cells) OfPool(ctx context.Context, pool string) (Redis, error) {
	cell, err := c.ofPool(ctx, pool)
	if err != nil {
		return nil, err
	}
	return cell.open(ctx)
}

// Redis returns that of a cell. Returns INVALID for one that the settings do not name.
func (c *Cells) Redis(ctx context.Context, name string) (Redis, error) {
	cell, err := c.named(name)
	if err != nil {
		return nil, err
	}
	return cell.open(ctx)
}
