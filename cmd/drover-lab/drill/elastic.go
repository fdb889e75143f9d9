package drill

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"drover/core"
	"drover/core/cloud"
	"drover/core/service/clock"
)

// The host group of a drill. Its hosts serve a pool of their own, which gets work in bursts: they lack the label that
// the other pools require.
const (
	groupName   = "burst"
	groupMax    = 2
	ordinary    = "ordinary=yes" // label of the other hosts
	machineVMs  = 2
	burstEvery  = 8 * time.Second
	killMachine = "kill-machine"
	killScaling = "kill-scaling"
	endMachines = 3 * time.Minute // for all machines of the group to end, once it is to have none
)

// elastic watches the machines of the group.
type elastic struct {
	cluster  *cluster
	provider cloud.Provider
	group    core.HostGroup
	alive    net.Listener // that ends with the drill, and its hosts with it

	mu     sync.Mutex
	lives  map[string]*life // machine → its process
	killed int
	cut    int
	most   int
}

// elasticCounts are the machines of a drill.
type elasticCounts struct {
	Made       int `json:"made"`
	Joined     int `json:"joined"`
	Failed     int `json:"failed"` // that never became hosts
	Terminated int `json:"terminated"`
	Killed     int `json:"killed"` // by the drill
	Most       int `json:"most"`   // at a time
	Cut        int `json:"cut"`    // overseers that were killed while a machine was asked for, or to end
}

// burstPool is made on hosts of the group only.
func burstPool() core.Pool {
	p := core.DefaultPool(groupName)
	p.Warm, p.Max, p.MaxWaiting, p.StageTimeout, p.Limits.Memory, p.Requires = 0, machineVMs, 100_000, 10*time.Second, vmMemory, groupName+"=yes"
	return p
}

// startGroup makes the host group: its machines are processes of the overseers' hosts.
func (h *cluster) startGroup(ctx context.Context) (*elastic, error) {
	alive, data := filepath.Join(h.dir, "alive"), filepath.Join(h.dir, "{{instance}}")
	listener, err := net.Listen("unix", alive) //nolint:noctx // its hosts end with it
	if err != nil {
		return nil, core.Wrap(err, core.CodeUnavailable, alive, "the socket by which hosts know that the drill goes on cannot be made")
	}
	env := map[string]string{}
	for _, one := range h.environ("{{instance}}", data) {
		name, value, _ := strings.Cut(one, "=")
		env[name] = value
	}
	env["DROVER_RUN"], env["DROVER_SLOTS"], env["DROVER_MAX_VMS"] = filepath.Join(data, "run"), strconv.Itoa(machineVMs), strconv.Itoa(machineVMs)
	profile, err := json.Marshal(cloud.Process{
		Command: []string{h.cfg.Program, "host", "run", "--throwaway", "--while", alive}, Dir: filepath.Join(h.dir, "machines"), Env: env,
	})
	if err != nil {
		return nil, core.Wrap(err, core.CodeInternal, "", "the profile of hosts cannot be written")
	}
	e := &elastic{cluster: h, lives: map[string]*life{}, alive: listener, group: core.HostGroup{
		Name: groupName, Provider: core.CloudProcess, Profile: profile, Max: groupMax, Labels: groupName + "=yes",
		Size: core.Size{CPU: 2000, Memory: machineVMs * vmMemory},
		Goal: time.Second, IdleAfter: time.Second, Cooldown: time.Second, JoinWithin: 30 * time.Second, DrainFor: 20 * time.Second,
	}}
	if e.provider, err = cloud.Open(h.client.StoreID, e.group); err != nil {
		return nil, err
	}
	e.group.Revision, err = h.client.Store.PutHostGroup(ctx, e.group)
	return e, err
}

// machines are those that run, by their provider.
func (e *elastic) machines(ctx context.Context) ([]core.Machine, error) {
	all, err := e.provider.List(ctx)
	return slices.DeleteFunc(all, func(m core.Machine) bool { return m.Gone }), err
}

// pid is the process of a machine.
func pid(m core.Machine) int {
	text, _, _ := strings.Cut(m.Foreign, "@")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// watch notes which machines live, until ctx ends.
func (e *elastic) watch(ctx context.Context, seen *evidence) {
	const often = 100 * time.Millisecond
	for clock.Sleep(ctx, clock.Real{}, often) == nil {
		if now, err := e.machines(ctx); err == nil {
			e.look(now, time.Now(), seen)
		}
	}
}

// look takes in the machines that live at a moment.
func (e *elastic) look(machines []core.Machine, now time.Time, seen *evidence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	alive := map[string]bool{}
	for _, m := range machines {
		alive[m.Token] = true
		if e.lives[m.Token] == nil {
			e.lives[m.Token] = &life{pid: pid(m)}
		}
	}
	e.most = max(e.most, len(machines))
	for token, its := range e.lives {
		if !alive[token] {
			seen.died(its, now)
		}
	}
}

// newest is the process of a machine that has the number; nil if it is not known.
func (e *elastic) newest(host string, pid int) *life {
	e.mu.Lock()
	defer e.mu.Unlock()
	if its := e.lives[host]; its != nil && its.pid == pid {
		return its
	}
	return nil
}

// killAMachine ends the process of a machine at once, with what it started; one that is not there yet is awaited.
func killAMachine(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	e := h.elastic
	var now []core.Machine
	h.await(ctx, burstEvery, func(ctx context.Context) bool {
		var err error
		now, err = e.machines(ctx)
		return err == nil && len(now) > 0
	})
	if len(now) == 0 {
		return nil, nil //nolint:nilnil // the group has none: there is nothing to kill, and to heal
	}
	m := now[f.n%len(now)]
	h.note("fault %d: machine %s, process %d", f.n, m.Token, pid(m))
	_ = syscall.Kill(-pid(m), syscall.SIGKILL) // it may have ended meanwhile
	e.mu.Lock()
	e.killed++
	e.mu.Unlock()
	return nil, nil //nolint:nilnil // another machine is made for it if one is needed
}

// killInScaling kills an overseer while the store says that a machine is asked for, or is to end. Where none comes, it is
// killed all the same.
func killInScaling(ctx context.Context, h *cluster, f fault) (func(context.Context) error, error) {
	const often = 2 * time.Millisecond
	filter := core.InstanceFilter{Group: groupName, Limit: 1, States: []core.InstanceState{core.InstanceValid, core.InstanceCreating, core.InstanceTerminating}}
	bounded, cancel := context.WithTimeout(ctx, burstEvery)
	defer cancel()
	var now []core.Instance
	for len(now) == 0 && clock.Sleep(bounded, clock.Real{}, often) == nil {
		now, _ = h.client.Store.ListInstances(bounded, filter) // a store that is locked is asked again
	}
	heal, err := kill(ctx, h, f)
	if len(now) > 0 {
		h.note("fault %d: instance %s is %s", f.n, now[0].ID, now[0].State)
		h.elastic.mu.Lock()
		h.elastic.cut++
		h.elastic.mu.Unlock()
	}
	return heal, err
}

// bursts submits some requests at once now and then, until ctx ends. In between, the hosts are idle.
func (l *load) bursts(ctx context.Context) {
	dice := l.dice(submitters + 2)
	for {
		for range 3 + dice.IntN(4) {
			if l.burst(ctx, dice) != nil {
				l.mu.Lock()
				l.refused++
				l.mu.Unlock()
			}
		}
		if clock.Sleep(ctx, clock.Real{}, burstEvery) != nil {
			return
		}
	}
}

func (l *load) burst(ctx context.Context, dice *rand.Rand) error {
	id, seconds := newID(), strconv.FormatFloat(0.3+0.7*dice.Float64(), 'f', 2, 64)
	spec := core.Spec{
		ID: id, Pool: groupName, Submitter: "bursts", Idempotency: id, Command: []string{"sh", "-c", script, "job", id, seconds},
	}
	if err := l.accept(ctx, spec); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids = append(l.ids, id)
	return nil
}

// close lets the group have no machine, and waits until all have ended. It ends what is left, and counts it as leaked.
func (e *elastic) close(ctx context.Context, r *Report) error {
	h := e.cluster
	var err error
	h.await(ctx, stopTimeout, func(ctx context.Context) bool {
		groups, failed := h.client.Store.HostGroups(ctx)
		if err = failed; err != nil || len(groups) == 0 {
			return false
		}
		g := groups[0]
		g.Max = 0
		_, err = h.client.Store.PutHostGroup(ctx, g)
		return err == nil
	})
	var instances []core.Instance
	var left []core.Machine
	h.await(ctx, endMachines, func(ctx context.Context) bool {
		if left, err = e.machines(ctx); err != nil {
			return false
		}
		instances, err = h.client.Store.ListInstances(ctx, core.InstanceFilter{Group: groupName, Limit: page})
		return err == nil && len(left) == 0 && !slices.ContainsFunc(instances, func(i core.Instance) bool { return i.State != core.InstanceTerminated })
	})
	if err != nil {
		return err
	}
	r.machines(instances, left)
	e.mu.Lock()
	r.Elastic.Killed, r.Elastic.Most, r.Elastic.Cut = e.killed, e.most, e.cut
	e.mu.Unlock()
	return nil
}

// machines counts the group's instances, and what is left of machines when there should be none.
func (r *Report) machines(instances []core.Instance, left []core.Machine) {
	states := map[string]core.InstanceState{}
	for _, i := range instances {
		states[i.ID] = i.State
		r.Elastic.Made++
		if i.Joined > 0 {
			r.Elastic.Joined++
		}
		if i.Failed {
			r.Elastic.Failed++
		}
		if i.State == core.InstanceTerminated {
			r.Elastic.Terminated++
		} else {
			r.leak("instance %s, which is %s: %s", i.ID, i.State, i.Why)
		}
	}
	for _, m := range left {
		state, known := states[m.Token]
		if !known {
			state = "not in the store"
		}
		r.leak("machine %s, process %d; its instance is %s", m.Token, pid(m), state)
	}
}

// end ends every machine that is left, and what its VMs left, as the loss of its power does.
func (e *elastic) end(ctx context.Context) error {
	all, err := e.provider.List(ctx)
	errs := []error{err, e.alive.Close()}
	for _, m := range all {
		if !m.Gone {
			errs = append(errs, e.provider.Terminate(ctx, m.Token, m.Foreign))
		}
	}
	for _, m := range all {
		data := filepath.Join(e.cluster.dir, m.Token)
		env := append(e.cluster.environ(m.Token, data), "DROVER_RUN="+filepath.Join(data, "run"))
		errs = append(errs, destroy(ctx, e.cluster.cfg.Program, env))
	}
	return errors.Join(errs...)
}
