package intake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"drover/core"

	"github.com/oklog/ulid/v2"
)

// Store is what an Intake needs of the result store.
type Store interface {
	core.RequestLedger
	core.TaskLedger
	core.PoolSettings
	core.Batches
	GetWebhook(ctx context.Context, id string) (core.Webhook, error)
}

// Tasks is what an Intake needs of tasks in Redis.
type Tasks interface {
	EnqueueTask(ctx context.Context, t core.Task) error
	PresentTasks(ctx context.Context, keys []string) ([]bool, error)
	LocateTasks(ctx context.Context, keys []string) ([]core.TaskPlace, error)
	CancelTask(ctx context.Context, key, by string) (core.TaskPlace, error)
	WithdrawTask(ctx context.Context, key string) (bool, error)
}

// Intake accepts work. The fields are set once; all methods are safe for
// concurrent use, by several processes as well.
type Intake struct {
	Store Store
	Queue core.Queue
	Pools core.Pools
	Tasks Tasks
	Blobs core.Blobs       // nil: the presence of files is not checked
	Now   func() time.Time // nil: time.Now
	NewID func() string    // nil: lower-case ULIDs
	Batch int              // most rows that one round of Sweep or Expire reads; 0: 500

	mu      sync.Mutex // guards what follows
	swept   string     // id after which Sweep continues
	expired string     // id after which Expire continues
	failed  string     // id after which FailBroken continues
	tasks   string     // id of a task after which Sweep continues
	full    map[room]refusal

	capacities capacities
}

const defaultBatch = 500

func (in *Intake) batch() int {
	if in.Batch > 0 {
		return in.Batch
	}
	return defaultBatch
}

func (in *Intake) now() time.Time {
	if in.Now != nil {
		return in.Now()
	}
	return time.Now()
}

func (in *Intake) newID() string {
	if in.NewID != nil {
		return in.NewID()
	}
	return strings.ToLower(ulid.Make().String())
}

// pool returns a pool's settings, even if Redis has lost them or is away.
func (in *Intake) pool(ctx context.Context, name string) (core.Pool, error) {
	if err := core.CheckName("pool", name); err != nil {
		return core.Pool{}, err
	}
	p, missing := in.Pools.GetPool(ctx, name)
	if missing == nil && p.Lease == "" { // to a pool of a lease nobody submits
		return p, nil
	}
	all, err := in.Store.Pools(ctx)
	if err != nil {
		return core.Pool{}, err
	}
	names := make([]string, len(all))
	for i, p := range all {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	if len(names) == 0 {
		return core.Pool{}, core.Errorf(core.CodeNotFound, name, "there is no pool %s, nor any other: an operator has to make one", name)
	}
	slices.Sort(names)
	return core.Pool{}, core.Errorf(core.CodeNotFound, name, "there is no pool %s; there are: %s", name, strings.Join(names, ", "))
}

// SetPool checks a pool's settings and writes them, to the store first. If Redis cannot be reached then, it returns
// UNAVAILABLE, and RestorePools writes them there later. Returns INVALID, UNAVAILABLE.
func (in *Intake) SetPool(ctx context.Context, p core.Pool) error {
	if err := p.Check(); err != nil {
		return err
	}
	if p.Lease != "" {
		return core.Errorf(core.CodeInvalid, p.Name, "pool %s is that of lease %s, which sets it: change the lease, or pool %s", p.Name, p.Lease, p.Of)
	}
	if err := in.Store.PutPool(ctx, p); err != nil {
		return err
	}
	return core.Wrap(in.Pools.SetPool(ctx, p), core.CodeUnavailable, p.Name,
		"pool %s is saved but does not work with its new settings yet", p.Name)
}

// RemovePool removes a pool that nothing uses: from the store first, then from Redis, whose clean VMs of it are
// destroyed. Returns CONFLICT, naming what uses the pool, NOTFOUND, UNAVAILABLE: then RestorePools goes on.
func (in *Intake) RemovePool(ctx context.Context, name string) error {
	p, err := in.pool(ctx, name)
	if err != nil {
		return err
	}
	if err := in.Pools.RemovePool(ctx, name, true); err != nil {
		return err
	}
	if err := in.Store.RemovePool(ctx, name); err != nil {
		return err
	}
	return in.dropPool(ctx, p)
}

// dropPool removes a pool from Redis that the store does not have. If something uses it by now, the store gets it back,
// so that it is whole.
func (in *Intake) dropPool(ctx context.Context, p core.Pool) error {
	err := in.Pools.RemovePool(ctx, p.Name, false)
	if !core.Is(err, core.CodeConflict) {
		return err
	}
	return errors.Join(err, in.Store.PutPool(ctx, p))
}

// RestorePools makes Redis agree with the store's pools and returns how many differed.
func (in *Intake) RestorePools(ctx context.Context) (int, error) {
	present, err := in.Pools.ListPools(ctx)
	if err != nil {
		return 0, err
	}
	restored := make(map[string]bool)
	for range maxRestores {
		all, err := in.Store.Pools(ctx)
		if err != nil {
			return len(restored), err
		}
		stored := slices.DeleteFunc(slices.Clone(all), func(p core.Pool) bool { return slices.Contains(present, p) })
		for _, p := range stored {
			if err := in.Pools.SetPool(ctx, p); err != nil {
				return len(restored), err
			}
			restored[p.Name] = true
			present = append(slices.DeleteFunc(present, func(was core.Pool) bool { return was.Name == p.Name }), p)
		}
		if len(stored) == 0 {
			return len(restored), in.dropPools(ctx, present, all)
		}
		// Another process may have set a pool between our read of the store and our write to Redis, which undid that:
		// read the store again until it agrees with what was written.
	}
	return len(restored), nil
}

// dropPools removes those pools from Redis that the store does not have. Settings are written to the store first, so
// their removal was interrupted; present was read before the store.
func (in *Intake) dropPools(ctx context.Context, present, stored []core.Pool) error {
	var troubles []error
	for _, p := range present {
		if p.Lease != "" { // no store has it
			continue
		}
		if slices.ContainsFunc(stored, func(s core.Pool) bool { return s.Name == p.Name }) {
			continue
		}
		if err := in.dropPool(ctx, p); err != nil && !core.Is(err, core.CodeConflict) {
			troubles = append(troubles, err)
		}
	}
	return errors.Join(troubles...)
}

// maxRestores bounds how often pools are read again that another process keeps changing; the next RestorePools
// continues.
const maxRestores = 10
