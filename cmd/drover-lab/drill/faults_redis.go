package drill

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"drover/core/service/clock"
)

func killRedis(ctx context.Context, h *cluster, _ fault) (func(context.Context) error, error) {
	h.refusals.read(ctx, h.client) // it forgets them
	h.redis.kill()
	return func(ctx context.Context) error {
		err := h.redis.start()
		h.await(ctx, stopTimeout, func(ctx context.Context) bool { return h.client.Redis.Ping(ctx) == nil })
		return err
	}, nil
}

// wipeRedis kills the server, and it comes back without its memory.
func wipeRedis(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	heal, err := killRedis(ctx, h, f)
	return heal, errors.Join(err, h.redis.wipe())
}

func freezeRedis(_ context.Context, h *cluster, _ fault) (func(context.Context) error, error) {
	h.redis.send(syscall.SIGSTOP)
	return func(context.Context) error {
		h.redis.send(syscall.SIGCONT)
		return nil
	}, nil
}

func fillRedis(ctx context.Context, h *cluster, _ fault) (func(context.Context) error, error) {
	heal := func(ctx context.Context) error {
		h.full.Store(0)
		return fill(ctx, h.client, false)
	}
	err := fill(ctx, h.client, true)
	if err == nil {
		h.full.Store(time.Now().UnixNano())
	}
	return heal, err
}

// restoreRedis keeps a copy of what Redis has written, lets the cluster go on for a while, and
// sets Redis back to the copy: as a server is that is restored from a backup, or a replica
// that is promoted and lacks the last seconds.
func restoreRedis(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	if err := h.redis.save(); err != nil {
		return nil, err
	}
	_ = clock.Sleep(ctx, clock.Real{}, f.hold) // the end of the drill sets it back early
	start, err := killRedis(ctx, h, f)
	err = errors.Join(err, h.redis.restore())
	h.watch.rewind()
	return nil, errors.Join(err, start(context.WithoutCancel(ctx)))
}

func jumpClock(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	return func(ctx context.Context) error { return h.moveClock(ctx, 0) }, h.moveClock(ctx, f.shift)
}

// moveClock sets Redis' clock and waits until it shows.
func (h *cluster) moveClock(ctx context.Context, ahead time.Duration) error {
	if err := h.redis.jump(ahead); err != nil {
		return err
	}
	var seen time.Duration
	const near = 2 * time.Second
	if !h.await(ctx, stopTimeout, func(ctx context.Context) bool {
		skew, err := h.client.Redis.Skew(ctx)
		seen = -skew
		return err == nil && (seen-ahead).Abs() < near
	}) {
		return fmt.Errorf("the clock of Redis is ahead by %s, not by %s", seen, ahead)
	}
	return nil
}

// lockStore has another connection hold the result store, so that nobody can write.
func lockStore(ctx context.Context, h *cluster, _ fault) (func(context.Context) error, error) {
	db, err := sql.Open("sqlite", filepath.Join(h.dir, "store", "drover.db")) // the store registered the driver
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	heal := func(ctx context.Context) error {
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		return errors.Join(err, conn.Close(), db.Close())
	}
	const limit = "PRAGMA busy_timeout = 10000"
	if _, err := conn.ExecContext(ctx, limit); err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	return heal, nil
}
