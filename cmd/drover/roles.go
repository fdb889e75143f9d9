package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"drover/core"
	"drover/core/blobs"
	"drover/core/config"
	"drover/core/service"
	"drover/core/worker/neighbour"
	"drover/overseer"
	"drover/taskrunner"
	"drover/testrunner"
	"drover/vmfactory"
	"drover/vmfactory/selftest"
	"drover/web/frontend"
)

// role is one component, ready to run.
type role struct {
	service service.Service
	beside  []service.Service // loops beside its own: what tells it of new pools, what sweeps
	checks  map[string]service.Check
	close   func() error // what it holds beside its loop; may be nil
}

// surroundings are what every role is made from.
type surroundings struct {
	cluster  *cluster
	log      logrus.FieldLogger
	metrics  prometheus.Registerer
	embedded bool // VMs die with this process
}

// registration is what an owner of this host says of itself.
func registration(cfg *config.Config, kind core.Role, n int) (core.Registration, error) {
	// Two programs of one machine that use different run folders are two machines
	// to Redis: one of them would destroy the other's VMs.
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return core.Registration{}, core.Wrap(err, core.CodeUnavailable, "", "this machine's boot id cannot be read: is /proc mounted?")
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(boot)) + " " + cfg.Run))
	var facts unix.Sysinfo_t
	if err := unix.Sysinfo(&facts); err != nil {
		return core.Registration{}, core.Wrap(err, core.CodeUnavailable, "", "this machine's memory cannot be measured")
	}
	return core.Registration{
		Owner: core.OwnerName(kind, cfg.Host, n), Host: cfg.Host, Machine: hex.EncodeToString(sum[:8]), PID: os.Getpid(),
		Version: version, Beat: cfg.Beat, CPU: runtime.NumCPU(), MemoryBytes: int64(facts.Totalram * uint64(facts.Unit)), //nolint:gosec // no machine has that much
		DiskBytes: diskBytes(cfg.Run), Process: neighbour.Process(),
	}, nil
}

// diskBytes is the size of the file system on which the VMs of the host are, 0 if it
// cannot be told.
func diskBytes(dir string) int64 {
	var facts unix.Statfs_t
	if err := unix.Statfs(dir, &facts); err != nil {
		return 0
	}
	return int64(facts.Blocks) * facts.Bsize //nolint:gosec // no disk has that much
}

// named takes a free number for an owner of this host.
func named(cfg *config.Config, kind core.Role) (core.Registration, *service.Lock, error) {
	const most = 64
	n, lock, err := service.TakeNumber(filepath.Join(cfg.Run, "locks"), kind, most)
	if err != nil {
		return core.Registration{}, nil, err
	}
	reg, err := registration(cfg, kind, n)
	if err != nil {
		lock.Release()
		return core.Registration{}, nil, err
	}
	return reg, lock, nil
}

func newTestrunner(ctx context.Context, s surroundings) (role, error) {
	cfg := s.cluster.cfg
	reg, lock, err := named(cfg, core.RoleTestrunner)
	if err != nil {
		return role{}, err
	}
	cache, err := blobs.OpenCache(s.cluster.blobs, blobs.CacheOptions{Dir: filepath.Join(cfg.Run, "cache"), MaxBytes: int64(cfg.CacheBytes)})
	if err != nil {
		lock.Release()
		return role{}, err
	}
	pools, err := s.cluster.pools(ctx)
	if err != nil {
		lock.Release()
		return role{}, errors.Join(err, cache.Close())
	}
	r, err := testrunner.New(testrunner.Config{
		Registration: reg, Pools: pools, Slots: cfg.Slots, RunDir: cfg.Run, SpoolDir: spoolDir(cfg),
		Poll: cfg.Poll, MaxAttempts: cfg.MaxAttempts, MaxDeaths: maxDeaths(cfg),
	}, testrunner.Deps{
		Owners: s.owners(), Claims: s.cluster.redis, Pools: s.cluster.redis, Output: s.cluster.redis, Store: s.cluster.store,
		Blobs: s.cluster.blobs, Harnesses: cached{s.cluster.blobs, cache}, Log: s.log, Collect: s.metrics,
	})
	if err != nil {
		lock.Release()
		return role{}, errors.Join(err, cache.Close())
	}
	watch := s.cluster.newPools("testrunner", pools, s.log, r.Serve)
	return role{
		service: service.Service{Name: "testrunner", Run: r.Run, Drain: r.Drain}, beside: []service.Service{watch},
		checks: s.cluster.checks(),
		close: func() error {
			lock.Release()
			return cache.Close()
		},
	}, nil
}

// cached reads blobs through the host's cache.
type cached struct {
	core.Blobs
	cache *blobs.Cache
}

// Open implements core.Blobs.
func (c cached) Open(ctx context.Context, digest string) (io.ReadCloser, error) {
	return c.cache.Open(ctx, digest)
}

// selfTest is what this host proves itself by, nil for nothing. A cluster that lives
// for one command runs what its user could run without it.
func selfTest(s surroundings) vmfactory.Trial {
	if s.embedded || s.cluster.cfg.SelfTest == config.SelfTestOff {
		return nil
	}
	return selftest.Memory{Run: s.cluster.cfg.Run, Version: version}.Trial
}

func newFactory(ctx context.Context, s surroundings, adjust func(*vmfactory.Config)) (*vmfactory.Factory, role, error) {
	cfg := s.cluster.cfg
	names, err := left(ctx, cfg)
	if err != nil {
		return nil, role{}, err
	}
	if len(names) > 0 {
		s.log.WithField("providers", names).Warn("providers that are not set up here any more have VMs here: destroy them with drover vmfactory --destroy-vms")
	}
	made, err := newProviders(cfg, s.cluster, s.embedded)
	if err != nil {
		return nil, role{}, err
	}
	reg, err := registration(cfg, core.RoleVMFactory, 0)
	if err != nil {
		return nil, role{}, errors.Join(err, made.close())
	}
	pools, err := s.cluster.pools(ctx)
	if err != nil {
		return nil, role{}, errors.Join(err, made.close())
	}
	conf := vmfactory.Config{
		Registration: reg, Pools: pools, RunDir: cfg.Run, MaxVMs: cfg.MaxVMs, Poll: cfg.Poll, CheckEvery: cfg.CheckEvery,
		ReconcileEvery: cfg.ReconcileEvery, CreateTimeout: cfg.CreateTimeout, DestroyTimeout: cfg.DestroyTimeout,
		DestroyOnStop: s.embedded,
	}
	if adjust != nil {
		adjust(&conf)
	}
	conf.SelfTestWarns = cfg.SelfTest == config.SelfTestWarn
	f, err := vmfactory.New(conf, vmfactory.Deps{
		VMs: s.cluster.redis, Owners: s.owners(), Now: s.cluster.now, Providers: made.all, Log: s.log, Wishes: s.cluster.store.HostWishes, Trial: selfTest(s),
	})
	if err == nil {
		err = s.metrics.Register(f.Collector())
	}
	if err != nil {
		return nil, role{}, errors.Join(err, made.close())
	}
	checks := s.cluster.checks()
	checks["provider"] = made.ready
	watch := s.cluster.newPools("vmfactory", pools, s.log, func(pools []string) error {
		f.Serve(pools)
		return nil
	})
	beside := append(made.sweep(s.log), watch)
	return f, role{service: service.Service{Name: "vmfactory", Run: f.Run}, beside: beside, checks: checks, close: made.close}, nil
}

func newTaskrunner(s surroundings) (role, error) {
	cfg := s.cluster.cfg
	reg, lock, err := named(cfg, core.RoleTaskrunner)
	if err != nil {
		return role{}, err
	}
	t, err := taskrunner.New(taskrunner.Config{
		Registration: reg, Slots: cfg.Slots, Poll: cfg.Poll, MaxAttempts: cfg.MaxAttempts,
		Rates: cfg.Rates(), KeepDownloads: cfg.KeepDownloads, Webhooks: s.cluster.webhooks,
	}, taskrunner.Deps{
		Owners: s.owners(), Tasks: s.cluster.redis, Store: s.cluster.store, Blobs: s.cluster.blobs, Work: s.cluster.intake, Intake: s.cluster.intake, Log: s.log,
		Skew: s.cluster.redis.Skew, Now: s.cluster.now, Callbacks: frontend.Callbacks(s.cluster.blobs),
	})
	if err == nil {
		err = s.metrics.Register(t.Collector())
	}
	if err != nil {
		lock.Release()
		return role{}, err
	}
	return role{
		service: service.Service{Name: "taskrunner", Run: t.Run, Drain: t.Drain}, checks: s.cluster.checks(),
		close: func() error {
			lock.Release()
			return nil
		},
	}, nil
}

// monitors are those that the overseer is to have; empty, not nil, for none.
func monitors(cfg *config.Config) []string {
	if slices.Equal(cfg.Monitors, []string{config.MonitorNone}) {
		return []string{}
	}
	return cfg.Monitors
}

// maxDeaths is the setting as parts read it: below 0 is never.
func maxDeaths(cfg *config.Config) int {
	if cfg.MaxDeaths == 0 {
		return -1
	}
	return cfg.MaxDeaths
}

func newOverseer(s surroundings) (*overseer.Overseer, role, error) {
	cfg := s.cluster.cfg
	o, err := overseer.New(overseer.Config{
		Beat: cfg.Beat, Suspect: cfg.Suspect, Down: cfg.Down, Monitors: monitors(cfg), MaxAttempts: cfg.MaxAttempts, MaxDeaths: maxDeaths(cfg),
		KeepFinished: cfg.KeepFinished, KeepTombstones: cfg.KeepTombstones, ConsistencyEvery: cfg.ConsistencyEvery,
	}, overseer.Deps{
		Owners: s.cluster.redis, Hosts: s.cluster.redis, Queue: s.cluster.redis, Evacuations: s.cluster.redis, Reports: s.cluster.redis,
		History: s.cluster.redis, Consistency: s.cluster.redis, Store: s.cluster.store, Intake: s.cluster.intake, Cancel: s.cluster.intake.Cancel, Skew: s.cluster.redis.Skew, Log: s.log,
		Oversee: s.cluster.redis.Oversee,
	})
	if err == nil {
		err = errors.Join(s.metrics.Register(o.Collector()), s.metrics.Register(&clusterMetrics{cluster: s.cluster.redis, now: time.Now}))
	}
	if err != nil {
		return nil, role{}, err
	}
	return o, role{service: service.Service{Name: "overseer", Run: o.Run}, checks: s.cluster.checks()}, nil
}

// services are a role's loops.
func (r role) services() []service.Service {
	return append([]service.Service{r.service}, r.beside...)
}

// checks are what every component's /healthz asks.
func (h *cluster) checks() map[string]service.Check {
	return map[string]service.Check{"redis": h.redis.Ping, "store": h.store.Ping, "blobs": h.blobs.Ping}
}
