package main

import (
	"context"
	"errors"

	"drover/core"
	"drover/core/clock"
	"drover/core/config"
	"drover/core/service"
)

// howToJoin mends a result store that is not the herd's.
const howToJoin = `Name the herd's with --store URL or DROVER_STORE, or its folder with --data DIR;
to move the herd to this one, stop all its components and run: drover doctor --adopt-store`

// sameLedger refuses a herd whose result store is another one than ours: nobody
// there would ever see what we write.
func (h *herd) sameLedger(ctx context.Context) error {
	return h.notOurs(h.redis.SameLedger(ctx, h.storeID))
}

// join is for what works on the herd's behalf: the first to join says which result
// store is the herd's.
func (h *herd) join(ctx context.Context) error {
	return h.notOurs(h.redis.Join(ctx, h.storeID))
}

// notOurs says which setting named the wrong store.
func (h *herd) notOurs(err error) error {
	if !core.Is(err, core.CodeConflict) {
		return err
	}
	return core.Errorf(core.CodeInvalid, h.storeID, "%s (store, %s) is not the result store of the herd at %s: %v.\n%s",
		h.cfg.Store, h.cfg.Source("store"), h.cfg.Redis, err, howToJoin)
}

// ledger joins again and again: it tells a Redis that lost its memory, and ends a
// component whose herd has moved to another store.
func (h *herd) ledger() service.Service {
	return service.Service{Name: "ledger", Run: func(ctx context.Context) error {
		return service.Every(ctx, clock.Real{}, h.cfg.Poll, func(ctx context.Context) error {
			if err := h.join(ctx); core.Is(err, core.CodeInvalid) {
				return err
			}
			return nil // Redis is away, which the component itself says
		})
	}}
}

// adoptStore makes the result store that the settings name the herd's.
func adoptStore(ctx context.Context, cfg *config.Config) error {
	h, err := connect(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(h.redis.Adopt(ctx, h.storeID), h.close())
}

// ledger looks at whether the herd has a result store, and shows which.
func (f *findings) ledger(ctx context.Context, h *herd) error {
	its, err := h.redis.Ledger(ctx)
	if err != nil {
		return err
	}
	if its == "" {
		f.warn("ledger", "start a component: the first one says it", "the herd does not know its result store yet")
		return nil
	}
	f.ok("ledger", "the herd's result store is this one, its id is %s", its)
	return nil
}
