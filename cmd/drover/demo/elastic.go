package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"drover/cmd/drover/access"
	"drover/cmd/drover/terminal"
	"drover/cmd/drover/wiring"
	"drover/core"
	"drover/core/cloud"
	"drover/core/service/clock"
)

// What the elastic demo is made of.
const (
	elasticGroup = "demo"
	elasticMax   = 4   // hosts
	elasticVMs   = 2   // of a host
	elasticRush  = 60  // requests
	elasticWork  = "1" // seconds that each takes
	// elasticTimeout bounds the whole demo; it takes about a minute.
	elasticTimeout = 10 * time.Minute
	elasticBeat    = 250 * time.Millisecond // between looks
)

// elasticPool keeps no VM warm, and has as many on a host as the demo wants.
func elasticPool() core.Pool {
	p := core.DefaultPool(access.DefaultPool)
	p.Warm, p.Max, p.MaxWaiting = 0, elasticVMs, 10*elasticRush
	return p
}

// runElastic shows a rush of requests that makes hosts, and hosts that go again.
func runElastic(c *cli.Context, dir string) error {
	return wiring.InHostlessCluster(c, dir, []core.Pool{elasticPool()}, func(c *cli.Context, h *access.Cluster) (err error) {
		g, err := hostsOf(h, dir)
		if err != nil {
			return err
		}
		if g, err = h.Operate().SetGroup(c.Context, access.Operator(), g); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, endHosts(context.WithoutCancel(c.Context), h, g)) }()
		ctx, cancel := context.WithTimeout(c.Context, elasticTimeout)
		defer cancel()
		show := &elasticView{h: h, out: newScreen(c.App.Writer), quiet: c.Bool("json"), began: time.Now()}
		return show.run(ctx, c)
	})
}

// hostsOf describes hosts that are processes of this machine, and end with this one.
func hostsOf(h *access.Cluster, dir string) (core.HostGroup, error) {
	program, err := os.Executable()
	if err != nil {
		return core.HostGroup{}, core.Wrap(err, core.CodeUnavailable, "", "this program's file cannot be found")
	}
	settings := filepath.Join(dir, "hosts.yaml")
	if err := os.WriteFile(settings, nil, 0o600); err != nil { // nobody else's settings are meant
		return core.HostGroup{}, core.Wrap(err, core.CodeUnavailable, settings, "the settings of hosts cannot be written")
	}
	cfg, data := h.Config, filepath.Join(dir, "{{instance}}")
	profile, err := json.Marshal(cloud.Process{
		Command: []string{program, "host", "run", "--throwaway", "--while", strings.TrimPrefix(cfg.Redis.Reveal(), "unix://")},
		Dir:     filepath.Join(dir, "machines"),
		Env: map[string]string{
			"DROVER_CONFIG": settings, "DROVER_HOST": "{{instance}}", "DROVER_DATA": data, "DROVER_RUN": filepath.Join(data, "r"),
			"DROVER_REDIS": cfg.Redis.Reveal(), "DROVER_STORE": cfg.Store.Reveal(), "DROVER_BLOBS": cfg.Blobs.Reveal(), "DROVER_NAMESPACE": cfg.Namespace,
			"DROVER_BEAT": cfg.Beat.String(), "DROVER_POLL": cfg.Poll.String(), "DROVER_AGENT": cfg.Agent, "DROVER_CGROUP": cfg.Cgroup,
			"DROVER_SLOTS": strconv.Itoa(elasticVMs), "DROVER_MAX_VMS": strconv.Itoa(elasticVMs), "DROVER_DRAIN": "5s",
		},
	})
	return core.HostGroup{
		Name: elasticGroup, Provider: core.CloudProcess, Profile: profile, Min: 1, Max: elasticMax,
		Goal: 2 * time.Second, IdleAfter: 3 * time.Second, Cooldown: time.Second, JoinWithin: time.Minute, DrainFor: time.Minute,
	}, core.Wrap(err, core.CodeInternal, "", "the profile of hosts cannot be written")
}

// endHosts ends all processes of the group. Nothing makes new ones: the group is paused first.
func endHosts(ctx context.Context, h *access.Cluster, g core.HostGroup) error {
	paused := h.Operate().PauseGroup(ctx, access.Operator(), g.Name, true)
	provider, err := cloud.Open(h.StoreID, g)
	if err != nil {
		return errors.Join(paused, err)
	}
	machines, err := provider.List(ctx)
	errs := []error{paused, err}
	for _, m := range machines {
		if !m.Gone {
			errs = append(errs, provider.Terminate(ctx, m.Token, m.Foreign))
		}
	}
	return errors.Join(errs...)
}

// elasticView watches the demo and shows it.
type elasticView struct {
	h     *access.Cluster
	out   *screen
	quiet bool
	began time.Time

	rush   time.Time // when the requests were submitted
	over   time.Time // when the last one had ended
	most   int       // hosts at once
	ended  []sample  // how many requests had ended when
	events []string  // of instances, newest last
	states map[string]core.InstanceState
}

// sample is how many requests had ended at a moment.
type sample struct {
	at    time.Time
	ended int
}

// elasticSummary is what the demo says at its end.
type elasticSummary struct {
	Requests  int     `json:"requests"`
	MostHosts int     `json:"most_hosts"`
	Hosts     int     `json:"hosts"` // at the end
	RushTook  float64 `json:"rush_s"`
	Took      float64 `json:"whole_s"`
}

// run waits for the first host, submits the requests, and watches until all have ended and one host is left.
func (v *elasticView) run(ctx context.Context, c *cli.Context) error {
	for {
		now, err := v.look(ctx)
		if err != nil {
			return v.late(ctx, c, err)
		}
		v.show(now)
		switch {
		case v.rush.IsZero() && now.hosts > 0:
			if err := v.submit(ctx); err != nil {
				return v.late(ctx, c, err)
			}
		case !v.rush.IsZero() && v.over.IsZero() && now.ended == elasticRush:
			v.over = time.Now()
		case !v.over.IsZero() && now.hosts == 1 && now.alive == 1:
			return v.conclude(c, now)
		}
		if err := clock.Sleep(ctx, clock.Real{}, elasticBeat); err != nil {
			return v.late(ctx, c, err)
		}
	}
}

// late says what has not happened, if the demo took too long.
func (v *elasticView) late(ctx context.Context, c *cli.Context, err error) error {
	if c.Context.Err() != nil || ctx.Err() == nil {
		return err
	}
	return core.Errorf(core.CodeUnavailable, "", "the demo is not over after %s: %s", elasticTimeout, cmp.Or(strings.Join(v.events[max(0, len(v.events)-3):], "; "), "no host was made"))
}

func (v *elasticView) submit(ctx context.Context) error {
	v.rush = time.Now()
	for n := range elasticRush {
		spec := core.Spec{Pool: access.DefaultPool, Submitter: "s" + strconv.Itoa(n%5), Command: []string{"sleep", elasticWork}}
		if _, _, err := v.h.Intake.Submit(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// elasticState is what is there at a moment.
type elasticState struct {
	hosts   int // that are up
	alive   int // instances that have not ended
	counts  map[core.InstanceState]int
	waiting int
	running int
	ended   int
	wait    time.Duration // that a new request is expected to have; below 0: not known yet
	lines   []string      // one for each instance
}

func (v *elasticView) look(ctx context.Context) (elasticState, error) {
	now := elasticState{counts: map[core.InstanceState]int{}, wait: -1}
	its, err := v.h.Store.ListInstances(ctx, core.InstanceFilter{Group: elasticGroup, Limit: 100})
	if err != nil {
		return now, err
	}
	slices.Reverse(its) // the oldest first
	for _, i := range its {
		v.note(i)
		if i.State == core.InstanceTerminated {
			continue
		}
		now.alive++
		now.counts[i.State]++
		if i.State == core.InstanceJoined || i.State == core.InstanceDraining {
			now.hosts++
		}
		now.lines = append(now.lines, fmt.Sprintf("  %-12s %-12s %s", i.ID, i.State, i.Why))
	}
	v.most = max(v.most, now.hosts)
	queues, err := v.h.Redis.Waiting(ctx)
	if err != nil {
		return now, err
	}
	for _, q := range queues {
		now.waiting += q.Waiting
	}
	if v.rush.IsZero() {
		return now, nil
	}
	left, err := v.h.Store.Unfinished(ctx, "", 10*elasticRush)
	if err != nil {
		return now, err
	}
	now.ended = elasticRush - len(left)
	now.running = max(0, len(left)-now.waiting)
	now.wait = v.expected(now)
	return now, nil
}

// lately is the time whose rate of ends tells how long what waits will wait.
const lately = 5 * time.Second

// expected returns for how long a new request would wait at the rate of late.
func (v *elasticView) expected(now elasticState) time.Duration {
	at := time.Now()
	v.ended = append(v.ended, sample{at, now.ended})
	for len(v.ended) > 1 && at.Sub(v.ended[0].at) > lately {
		v.ended = v.ended[1:]
	}
	switch done := now.ended - v.ended[0].ended; {
	case now.waiting == 0:
		return 0
	case done == 0:
		return -1
	default:
		return time.Duration(float64(at.Sub(v.ended[0].at)) * float64(now.waiting) / float64(done)).Round(100 * time.Millisecond)
	}
}

// note remembers what happened to an instance.
func (v *elasticView) note(i core.Instance) {
	if v.states == nil {
		v.states = map[string]core.InstanceState{}
	}
	if v.states[i.ID] == i.State {
		return
	}
	v.states[i.ID] = i.State
	v.events = append(v.events, fmt.Sprintf("%s is %s%s", i.ID, i.State, terminal.Prefixed(": ", terminal.Clean(i.Why))))
}

// show draws the state; without a terminal it writes what has happened since.
func (v *elasticView) show(now elasticState) {
	if v.quiet {
		return
	}
	wait := "not known yet"
	if now.wait >= 0 {
		wait = now.wait.String()
	}
	spent := time.Since(v.began).Round(time.Second)
	v.out.draw(append([]string{
		fmt.Sprintf("%4s  hosts    %s", spent, bar(now.hosts, elasticMax, elasticMax)),
		fmt.Sprintf("      waiting  %s", bar(now.waiting, elasticRush, 30)),
		fmt.Sprintf("      running  %s", bar(now.running, elasticMax*elasticVMs, elasticMax*elasticVMs)),
		fmt.Sprintf("      ended    %d of %d; a new request would wait: %s", now.ended, elasticRush, wait),
	}, now.lines...), func(changed func(string)) {
		for _, e := range v.events {
			changed(e)
		}
	})
}

// bar draws a number of most in so many characters, and writes it behind them.
func bar(n, most, width int) string {
	full := min(width, (n*width+most-1)/max(1, most))
	return strings.Repeat("█", full) + strings.Repeat("·", width-full) + " " + strconv.Itoa(n)
}

// conclude says what was there to see. It fails if there never was more than one host.
func (v *elasticView) conclude(c *cli.Context, now elasticState) error {
	sum := elasticSummary{
		Requests: elasticRush, MostHosts: v.most, Hosts: now.hosts,
		RushTook: v.over.Sub(v.rush).Round(100 * time.Millisecond).Seconds(), Took: time.Since(v.began).Round(100 * time.Millisecond).Seconds(),
	}
	var err error
	if v.quiet {
		err = terminal.PrintJSON(c.App.Writer, sum)
	} else {
		_, err = fmt.Fprintf(c.App.Writer, "\n%d requests of %s s each ran in %.1f s: the cluster grew from 1 to %d hosts, and is back at %d\n", sum.Requests, elasticWork, sum.RushTook, sum.MostHosts, sum.Hosts)
	}
	if err == nil && sum.MostHosts < 2 {
		err = terminal.ExitCode(terminal.ExitFault)
	}
	return err
}
