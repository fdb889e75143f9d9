package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/redisstore"
	"drover/core/redisstore/redisserver"
	"drover/core/service/clock"
	"drover/core/service/pattern"
	"drover/core/worker"
)

// queueBench is one measurement of the queue.
type queueBench struct {
	Slots       int    `json:"slots"`
	Jobs        int    `json:"jobs"`
	Submitters  int    `json:"submitters"`
	Owners      int    `json:"owners"` // that send heartbeats at the same time
	IdleSamples int    `json:"idle_samples"`
	AOF         string `json:"aof"`
}

// queueReport is the result of a queueBench.
type queueReport struct {
	queueBench
	JobsPerS          float64 `json:"jobs_per_s"`           // claimed and finished
	SubmittedPerS     float64 `json:"submitted_per_s"`      // in batches of 64 by 4 clients
	RedisMicros       float64 `json:"redis_us_per_job"`     // processor time of Redis' main thread for claim and finish
	RedisSubmitMicros float64 `json:"redis_us_per_submit"`  // the same for submit
	ScriptCalls       float64 `json:"script_calls_per_job"` // for claim and finish
	P50Micros         int64   `json:"p50_us"`               // a slot's finish and next claim, under load
	P99Micros         int64   `json:"p99_us"`
	IdleP50Micros     int64   `json:"idle_submit_to_claimed_p50_us"`
	IdleP99Micros     int64   `json:"idle_submit_to_claimed_p99_us"`
	FalseDeaths       int     `json:"false_deaths"` // other owners that were declared dead although they lived
}

const (
	benchPool = "bench"
	benchHost = "bench"
)

func (b queueBench) run(ctx context.Context) (r queueReport, err error) {
	settings := []string{"--appendonly", "no"}
	if b.AOF != "off" {
		settings = []string{"--appendonly", "yes", "--appendfsync", b.AOF}
	}
	server, err := redisserver.Start(ctx, settings...)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	s, err := redisstore.Open(ctx, redisstore.Options{URL: server.URL(), MaxWaiting: 1 << 30})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r.queueBench = b
	if err := b.prepare(ctx, s, b.Jobs+b.IdleSamples); err != nil {
		return r, err
	}
	before, err := readMeter(ctx, s)
	if err != nil {
		return r, err
	}
	if err := b.submit(ctx, s); err != nil {
		return r, err
	}
	between, err := readMeter(ctx, s)
	if err != nil {
		return r, err
	}
	r.SubmittedPerS = float64(b.Jobs) / between.at.Sub(before.at).Seconds()
	r.RedisSubmitMicros = (between.micros - before.micros) / float64(b.Jobs)
	beside, err := crowd(ctx, server.URL(), b.Owners)
	if err != nil {
		return r, err
	}
	defer func() {
		died, worse := beside.leave()
		r.FalseDeaths, err = died, errors.Join(err, worse)
	}()
	backend, _, err := worker.Open(ctx, s, s, worker.Config{
		Registration: core.Registration{Owner: core.OwnerName(core.RoleTestrunner, benchHost, 0), Host: benchHost, Machine: benchHost, Beat: time.Second},
		Pools:        []string{benchPool}, Slots: b.Slots,
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	if err := b.drain(ctx, s, backend, &r); err != nil {
		return r, err
	}
	return r, b.idle(ctx, s, backend, &r)
}

// prepare makes the pool and all clean VMs.
func (b queueBench) prepare(ctx context.Context, s *redisstore.Store, vms int) error {
	p := core.DefaultPool(benchPool)
	p.MaxWaiting = 1 << 30
	if err := s.SetPool(ctx, p); err != nil {
		return err
	}
	owner := core.OwnerName(core.RoleVMFactory, benchHost, 0)
	reg, err := s.Register(ctx, core.Registration{Owner: owner, Host: benchHost, Machine: benchHost, Beat: time.Hour})
	if err != nil {
		return err
	}
	if _, err := s.Reconcile(ctx, owner, reg.Epoch, benchHost, nil, nil); err != nil {
		return err
	}
	for at := 0; at < vms; at += 500 {
		ids, made := []string{}, map[string]bool{}
		for i := at; i < min(at+500, vms); i++ {
			id := "vm" + strconv.Itoa(i)
			ids, made[id] = append(ids, id), true
		}
		if err := s.Create(ctx, owner, reg.Epoch, benchHost, benchPool, ids); err != nil {
			return err
		}
		if err := s.Ready(ctx, owner, reg.Epoch, benchHost, made); err != nil {
			return err
		}
	}
	return nil
}

func (b queueBench) spec(i int) core.Spec {
	return core.Spec{
		ID: fmt.Sprintf("r%d", i), Generation: 1, Pool: benchPool, Priority: core.PriorityNormal,
		Submitter: "s" + strconv.Itoa(i%b.Submitters), Command: []string{"true"}, Submitted: 1,
	}
}

func (b queueBench) submit(ctx context.Context, s *redisstore.Store) error {
	const batch, clients = 64, 4
	var g errgroup.Group
	for client := range clients {
		g.Go(func() error {
			for at := client * batch; at < b.Jobs; at += clients * batch {
				var specs []core.Spec
				for i := at; i < min(at+batch, b.Jobs); i++ {
					specs = append(specs, b.spec(i))
				}
				verdicts, err := s.Enqueue(ctx, specs)
				if err := errors.Join(append(verdicts, err)...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// drain lets all slots claim and finish until every request is done.
func (b queueBench) drain(ctx context.Context, s *redisstore.Store, backend *worker.Worker, r *queueReport) error {
	start, err := readMeter(ctx, s)
	if err != nil {
		return err
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var mu sync.Mutex
	left, rides := b.Jobs, make([]int64, 0, b.Jobs)
	var g errgroup.Group
	for range b.Slots {
		g.Go(func() error {
			w, err := backend.Next(ctx)
			for err == nil {
				began := time.Now()
				mu.Lock()
				left--
				last := left == 0
				mu.Unlock()
				if last {
					_, err = backend.Finish(ctx, w, core.OutcomeDone)
					enough()
					break
				}
				w, _, err = backend.FinishNext(ctx, w, core.OutcomeDone)
				if err == nil {
					mu.Lock()
					rides = append(rides, time.Since(began).Microseconds())
					mu.Unlock()
				}
			}
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	end, err := readMeter(context.WithoutCancel(ctx), s)
	if err != nil {
		return err
	}
	jobs := float64(b.Jobs)
	r.JobsPerS = jobs / end.at.Sub(start.at).Seconds()
	r.RedisMicros = (end.micros - start.micros) / jobs
	r.ScriptCalls = float64(end.scripts-start.scripts) / jobs
	r.P50Micros, r.P99Micros = quantiles(rides)
	return nil
}

// idle submits single requests to slots that wait.
func (b queueBench) idle(ctx context.Context, s *redisstore.Store, backend *worker.Worker, r *queueReport) error {
	if b.IdleSamples == 0 {
		return nil
	}
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	claimed := make(chan *worker.Work)
	var g errgroup.Group
	for range b.Slots {
		g.Go(func() error {
			for {
				w, err := backend.Next(ctx)
				if err != nil {
					return nil //nolint:nilerr // the end of the measurement
				}
				claimed <- w
				if _, err := backend.Finish(context.WithoutCancel(ctx), w, core.OutcomeDone); err != nil {
					return err
				}
			}
		})
	}
	waits := make([]int64, 0, b.IdleSamples)
	for i := range b.IdleSamples {
		for backend.Stats().Idle < b.Slots-1 {
			if err := clock.Sleep(ctx, clock.Real{}, time.Millisecond); err != nil {
				return err
			}
		}
		began := time.Now()
		verdicts, err := s.Enqueue(ctx, []core.Spec{b.spec(b.Jobs + i)})
		if err := errors.Join(append(verdicts, err)...); err != nil {
			return err
		}
		<-claimed
		waits = append(waits, time.Since(began).Microseconds())
	}
	r.IdleP50Micros, r.IdleP99Micros = quantiles(waits)
	enough()
	return g.Wait()
}

// quantiles returns the median and the 99th percentile.
func quantiles(samples []int64) (p50, p99 int64) {
	if len(samples) == 0 {
		return 0, 0
	}
	slices.Sort(samples)
	return samples[len(samples)/2], samples[len(samples)*99/100]
}

// meter is what the server has done so far.
type meter struct {
	at      time.Time
	micros  float64 // processor time of its main thread
	scripts int64   // calls of scripts
}

var (
	cpuField    = pattern.New(`used_cpu_(?:user|sys)_main_thread:([0-9.]+)`)
	scriptField = pattern.New(`cmdstat_evalsha?:calls=(\d+)`)
)

func readMeter(ctx context.Context, s *redisstore.Store) (meter, error) {
	text, err := s.Client().Info(ctx, "cpu", "commandstats").Result()
	if err != nil {
		return meter{}, core.Wrap(err, core.CodeUnavailable, "", "the private redis-server does not say what it did")
	}
	m := meter{at: time.Now()}
	for _, f := range cpuField().FindAllStringSubmatch(text, -1) {
		seconds, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			return m, err
		}
		m.micros += seconds * 1e6
	}
	for _, f := range scriptField().FindAllStringSubmatch(text, -1) {
		calls, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return m, err
		}
		m.scripts += calls
	}
	return m, nil
}
