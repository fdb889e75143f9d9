// Package wiring runs the components as processes: testrunner, vmfactory, taskrunner, overseer and web, each by
// itself, or all of them with a Redis in one process.
package wiring

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

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"drover/cmd/drover/access"
	"drover/core"
	"drover/core/blobs"
	"drover/core/classes"
	"drover/core/config"
	"drover/core/school"
	"drover/core/service"
	"drover/core/service/metric"
	"drover/core/worker/neighbour"
	"drover/overseer"
	"drover/taskrunner"
	"drover/testrunner"
	"drover/vmfactory"
	"drover/vmfactory/hostload"
	"drover/vmfactory/selftest"
	"drover/web/frontend"
)

// Role is one component, ready to run.
type Role struct {
	service service.Service
	beside  []service.Service // further loops: updates of its pools, sweeps
	checks  map[string]service.Check
	close   func() error // frees its resources; may be nil
}

// Surroundings are what every role is made from.
type Surroundings struct {
	Cluster  *access.Cluster
	Log      logrus.FieldLogger
	Metrics  *metric.Set
	embedded bool // VMs die with this process
	hostless bool // there is neither vmfactory nor testrunner
}

// registration returns the registration of an owner of this host.
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
		Version: access.Version, Beat: cfg.Beat, CPU: runtime.NumCPU(), MemoryBytes: hostload.Memory(int64(facts.Totalram*uint64(facts.Unit)), "/"), //nolint:gosec // no machine has that much
		DiskBytes: diskBytes(cfg.Run), Process: neighbour.Process(),
	}, nil
}

// diskBytes returns the size of the file system of the host's VMs, 0 if it is not known.
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

func newTestrunner(ctx context.Context, s Surroundings) (Role, error) {
	cfg := s.Cluster.Config
	reg, lock, err := named(cfg, core.RoleTestrunner)
	if err != nil {
		return Role{}, err
	}
	cache, err := blobs.OpenCache(s.Cluster.Blobs, blobs.CacheOptions{Dir: filepath.Join(cfg.Run, "cache"), MaxBytes: int64(cfg.CacheBytes)})
	if err != nil {
		lock.Release()
		return Role{}, err
	}
	pools, err := s.Cluster.Pools(ctx)
	if err != nil {
		lock.Release()
		return Role{}, errors.Join(err, cache.Close())
	}
	r, err := testrunner.New(testrunner.Config{
		Registration: reg, Pools: pools, Slots: cfg.Slots, RunDir: cfg.Run, SpoolDir: spoolDir(cfg), BuildsDir: filepath.Join(cfg.Run, "builds"),
		Poll: cfg.Poll, MaxAttempts: cfg.MaxAttempts, MaxDeaths: maxDeaths(cfg),
	}, testrunner.Deps{
		Owners: s.owners(), Claims: s.Cluster.Redis, Pools: s.Cluster.Redis, Output: s.Cluster.Redis, Store: s.Cluster.Store,
		Blobs: s.Cluster.Blobs, Harnesses: cached{s.Cluster.Blobs, cache}, Log: s.Log, Metrics: s.Metrics,
	})
	if err != nil {
		lock.Release()
		return Role{}, errors.Join(err, cache.Close())
	}
	watch := s.Cluster.NewPools("testrunner", pools, s.Log, r.Serve)
	return Role{
		service: service.Service{Name: "testrunner", Run: r.Run, Drain: r.Drain}, beside: []service.Service{watch},
		checks: checksOf(s.Cluster),
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

// selfTest returns the self-test of this host, nil for none. A cluster that lives for one command only runs what its
// user could run without it.
func selfTest(s Surroundings) vmfactory.Trial {
	if s.embedded || s.Cluster.Config.SelfTest == config.SelfTestOff {
		return nil
	}
	return selftest.Memory{Run: s.Cluster.Config.Run, Version: access.Version}.Trial
}

func newFactory(ctx context.Context, s Surroundings, adjust func(*vmfactory.Config)) (*vmfactory.Factory, Role, error) {
	cfg := s.Cluster.Config
	names, err := left(ctx, cfg)
	if err != nil {
		return nil, Role{}, err
	}
	if len(names) > 0 {
		s.Log.WithField("providers", names).Warn("providers that are not set up here any more have VMs here: destroy them with drover vmfactory --destroy-vms")
	}
	made, err := NewProviders(cfg, s.Cluster, s.embedded)
	if err != nil {
		return nil, Role{}, err
	}
	reg, err := registration(cfg, core.RoleVMFactory, 0)
	if err != nil {
		return nil, Role{}, errors.Join(err, made.Close())
	}
	pools, err := s.Cluster.Pools(ctx)
	if err != nil {
		return nil, Role{}, errors.Join(err, made.Close())
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
		VMs: s.Cluster.Redis, Owners: s.owners(), Now: s.Cluster.Now, Providers: made.All, Log: s.Log, Wishes: s.Cluster.Store.HostWishes, Trial: selfTest(s), Metrics: s.Metrics,
		Meter: &hostload.Meter{Root: "/", Disk: cfg.Run, Whole: reg.Whole()},
	})
	if err != nil {
		return nil, Role{}, errors.Join(err, made.Close())
	}
	checks := checksOf(s.Cluster)
	checks["provider"] = made.ready
	watch := s.Cluster.NewPools("vmfactory", pools, s.Log, func(pools []string) error {
		f.Serve(pools)
		return nil
	})
	beside := append(made.sweep(s.Log), watch)
	if !s.embedded {
		beside = append(beside, takenBack(s))
	}
	return f, Role{service: service.Service{Name: "vmfactory", Run: f.Run}, beside: beside, checks: checks, close: made.Close}, nil
}

func newTaskrunner(s Surroundings) (Role, error) {
	cfg := s.Cluster.Config
	rates, err := cfg.Rates(school.TaskKinds().Rates())
	if err != nil {
		return Role{}, err
	}
	reg, lock, err := named(cfg, core.RoleTaskrunner)
	if err != nil {
		return Role{}, err
	}
	letters, accounts, err := mailOf(s.Cluster)
	if err != nil {
		lock.Release()
		return Role{}, err
	}
	t, err := taskrunner.New(taskrunner.Config{
		Registration: reg, Slots: cfg.Slots, Poll: cfg.Poll, MaxAttempts: cfg.MaxAttempts,
		Rates: rates, KeepDownloads: cfg.KeepDownloads, Webhooks: s.Cluster.Webhooks, Mail: letters,
	}, taskrunner.Deps{
		Accounts: accounts,
		Owners:   s.owners(), Tasks: s.Cluster.Redis, Store: s.Cluster.Store, Blobs: s.Cluster.Blobs, Work: s.Cluster.Intake, Intake: s.Cluster.Intake, Log: s.Log,
		Skew: s.Cluster.Redis.Skew, Now: s.Cluster.Now, Callbacks: frontend.Callbacks(s.Cluster.Blobs), Metrics: s.Metrics,
	})
	if err != nil {
		lock.Release()
		return Role{}, err
	}
	return Role{
		service: service.Service{Name: "taskrunner", Run: t.Run, Drain: t.Drain}, checks: checksOf(s.Cluster),
		close: func() error {
			lock.Release()
			return nil
		},
	}, nil
}

// monitors returns the overseer's monitors; empty, not nil, for none.
func monitors(cfg *config.Config) []string {
	if slices.Equal(cfg.Monitors, []string{config.MonitorNone}) {
		return []string{}
	}
	return cfg.Monitors
}

// maxDeaths returns the setting as components read it: below 0 is never.
func maxDeaths(cfg *config.Config) int {
	if cfg.MaxDeaths == 0 {
		return -1
	}
	return cfg.MaxDeaths
}

// NewOverseer makes the overseer of a cluster.
func NewOverseer(s Surroundings) (*overseer.Overseer, Role, error) {
	cfg := s.Cluster.Config
	every, err := cfg.MonitorTimes()
	if err != nil {
		return nil, Role{}, err
	}
	o, err := overseer.New(overseer.Config{
		MonitorEvery: every, MonitorCommand: cfg.MonitorCommand,
		Beat: cfg.Beat, Suspect: cfg.Suspect, Down: cfg.Down, Monitors: monitors(cfg), MaxAttempts: cfg.MaxAttempts, MaxDeaths: maxDeaths(cfg),
		KeepFinished: cfg.KeepFinished, KeepTombstones: cfg.KeepTombstones, KeepHistory: cfg.KeepHistory, ConsistencyEvery: cfg.ConsistencyEvery,
		Leases: access.LeaseRules(cfg), LeasesEvery: cfg.LeasesEvery,
	}, overseer.Deps{
		Owners: s.Cluster.Redis, Hosts: s.Cluster.Redis, Pools: s.Cluster.Redis, Queue: s.Cluster.Redis, Evacuations: s.Cluster.Redis, Placements: s.Cluster.Redis, Reports: s.Cluster.Redis,
		History: s.Cluster.Redis, Consistency: s.Cluster.Consistency(), Store: s.Cluster.Store, Intake: s.Cluster.Intake, Cancel: s.Cluster.Intake.Cancel, Skew: s.Cluster.Redis.Skew, Log: s.Log, Metrics: s.Metrics,
		Oversee: s.Cluster.Redis.Oversee, Leased: s.Cluster.Redis,
		Elastic: overseer.Elastic{Instances: s.Cluster.Store, Cluster: s.Cluster.StoreID, Secret: joinSecret(s.Cluster.Joins())},
		Expected: func(ctx context.Context) (map[string]float64, error) {
			return classes.Expected(ctx, s.Cluster.Store, s.Cluster.Now())
		},
	})
	if err != nil {
		return nil, Role{}, err
	}
	(&clusterMetrics{cluster: s.Cluster.Redis, now: s.Cluster.Now}).declare(s.Metrics)
	return o, Role{service: service.Service{Name: "overseer", Run: o.Run}, checks: checksOf(s.Cluster)}, nil
}

// services are a role's loops.
func (r Role) services() []service.Service {
	return append([]service.Service{r.service}, r.beside...)
}

// checksOf returns the checks of every component's /healthz.
func checksOf(h *access.Cluster) map[string]service.Check {
	return map[string]service.Check{"redis": h.Redis.CheckWrites, "store": h.Store.Ping, "blobs": h.Blobs.Ping}
}
