package overseer

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"drover/core"
	"drover/core/cloud"
	"drover/core/cluster/scale"
)

// Elastic is what an Overseer needs to make and end hosts.
type Elastic struct {
	Instances core.Instances
	Cluster   string // id of the result store: machines of another one are not touched
	// Open returns the provider of a group; nil: cloud.Open.
	Open func(cluster string, g core.HostGroup) (cloud.Provider, error)
	// Secret makes what the host of an instance joins the cluster with, anew each time its machine is asked for; nil:
	// hosts have another way.
	Secret func(ctx context.Context, i core.Instance) (string, error)
}

const (
	scaleEvery      = 5 * time.Second
	newestInstances = 50               // of a group that are read, whether they have ended or not
	cloudAtOnce     = 8                // calls of providers
	listWithin      = 20 * time.Second // a provider that takes longer is left out of the round
	createWithin    = 80 * time.Second // less than scale.CreateWithin: by then another overseer takes over
	instancesPage   = 1000
)

// opened is the provider of a group at a revision.
type opened struct {
	revision int64
	provider cloud.Provider
}

// scale makes and ends the machines of host groups. Every step is written before a provider is asked, with the revision
// that it was decided on: of two overseers one does it, and after a crash the next round finds what was begun. What a
// round decided to make, the next one, which follows at once, asks for.
func (o *Overseer) scale(ctx context.Context) (Counts, error) {
	counts := &tallied{counts: Counts{}}
	for again := true; again; {
		var err error
		if again, err = o.scaleOnce(ctx, counts); err != nil {
			return counts.counts, err
		}
	}
	return counts.counts, nil
}

// tallied are counts that several goroutines change.
type tallied struct {
	sync.Mutex

	counts Counts
}

func (t *tallied) add(what string) {
	t.Lock()
	defer t.Unlock()
	t.counts[what]++
}

// scaleOnce does one round. It returns true if it wrote of machines that nobody has been asked for yet.
func (o *Overseer) scaleOnce(ctx context.Context, counts *tallied) (bool, error) {
	groups, err := o.deps.Elastic.Instances.HostGroups(ctx)
	if err != nil || len(groups) == 0 {
		return false, err
	}
	// Machines are read before instances: one that is made meanwhile is not taken for one that no instance knows.
	lists, providers, troubles := o.lists(ctx, groups)
	c := scale.Cluster{ID: o.deps.Elastic.Cluster}
	for _, g := range groups {
		one := scale.Group{HostGroup: g}
		one.Machines, one.Listed = lists[g.Name]
		if one.Instances, err = o.instances(ctx, g.Name); err != nil {
			return false, err
		}
		c.Groups = append(c.Groups, one)
	}
	if c.Drained, c.Labeled, err = o.wished(ctx); err != nil {
		return false, err
	}
	if c.Ground, err = o.deps.Placements.Ground(ctx); err != nil {
		return false, err
	}
	if c.Clock, err = o.deps.Queue.ReadClock(ctx); err != nil {
		return false, err
	}
	o.gauge(c.Groups)
	plan := scale.Decide(c)
	s := scaler{o, providers, groups, counts, c.Clock.Now}
	made, err := s.follow(ctx, plan)
	return made, errors.Join(append(troubles, err)...)
}

// lists asks the providers of all groups for their machines. A group whose provider does not answer has no list.
func (o *Overseer) lists(ctx context.Context, groups []core.HostGroup) (map[string][]core.Machine, map[string]cloud.Provider, []error) {
	lists, providers := make(map[string][]core.Machine), make(map[string]cloud.Provider)
	var troubles []error
	var mu sync.Mutex
	var work errgroup.Group
	work.SetLimit(cloudAtOnce)
	for _, g := range groups {
		p, err := o.open(g)
		if err != nil {
			mu.Lock()
			troubles = append(troubles, err)
			mu.Unlock()
			continue
		}
		providers[g.Name] = p
		if g.Paused {
			continue
		}
		work.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, listWithin)
			defer cancel()
			its, err := p.List(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				troubles = append(troubles, err)
				return nil
			}
			lists[g.Name] = its
			return nil
		})
	}
	troubles = append(troubles, work.Wait())
	return lists, providers, troubles
}

// open returns the provider of a group, anew when the group was changed.
func (o *Overseer) open(g core.HostGroup) (cloud.Provider, error) {
	if its, is := o.clouds[g.Name]; is && its.revision == g.Revision {
		return its.provider, nil
	}
	open := o.deps.Elastic.Open
	if open == nil {
		open = cloud.Open
	}
	p, err := open(o.deps.Elastic.Cluster, g)
	if err != nil {
		return nil, err
	}
	o.clouds[g.Name] = opened{g.Revision, p}
	return p, nil
}

// instances lists a group's instances that have not ended, and the newest.
func (o *Overseer) instances(ctx context.Context, group string) ([]core.Instance, error) {
	all, err := o.deps.Elastic.Instances.ListInstances(ctx, core.InstanceFilter{Group: group, Limit: newestInstances})
	if err != nil || len(all) < newestInstances {
		return all, err
	}
	f := core.InstanceFilter{Group: group, Limit: instancesPage, Before: all[len(all)-1].ID, States: []core.InstanceState{
		core.InstanceValid, core.InstanceCreating, core.InstanceRunning, core.InstanceJoined, core.InstanceDraining, core.InstanceTerminating,
	}}
	for {
		page, err := o.deps.Elastic.Instances.ListInstances(ctx, f)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < f.Limit {
			return all, nil
		}
		f.Before = page[len(page)-1].ID
	}
}

// wished returns which hosts are to be drained by whom, and which have settings.
func (o *Overseer) wished(ctx context.Context) (map[string]string, map[string]bool, error) {
	drained, labeled := make(map[string]string), make(map[string]bool)
	all, err := o.deps.Store.HostWishes(ctx, "")
	for _, w := range all {
		switch {
		case w.Kind == core.WishDrain && !w.Lifted:
			drained[w.Host] = w.By
		case w.Kind == core.WishSettings:
			labeled[w.Host] = true
		}
	}
	return drained, labeled, err
}

func (o *Overseer) gauge(groups []scale.Group) {
	o.metrics.machines.Reset()
	for _, g := range groups {
		for _, i := range g.Instances {
			if i.State != core.InstanceTerminated {
				o.metrics.machines.Add(1, g.Name, string(i.State))
			}
		}
	}
}

// scaler follows one plan.
type scaler struct {
	*Overseer

	providers map[string]cloud.Provider
	groups    []core.HostGroup
	did       *tallied
	at        int64
}

func (s scaler) follow(ctx context.Context, plan scale.Plan) (bool, error) {
	var mu sync.Mutex
	var troubles []error
	made := false
	var work errgroup.Group
	work.SetLimit(cloudAtOnce)
	do := func(one func() error) {
		work.Go(func() error {
			if err := one(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				troubles = append(troubles, err)
			}
			return nil
		})
	}
	for _, step := range plan.Steps {
		made = made || step.Instance.Revision == 0
		do(func() error { return s.step(ctx, step) })
	}
	for _, stray := range plan.Strays {
		do(func() error { return s.endStray(ctx, stray) })
	}
	for _, host := range plan.Forget {
		do(func() error { return s.forget(ctx, host) })
	}
	err := work.Wait()
	return made && len(troubles) == 0, errors.Join(append(troubles, err)...)
}

// put writes an instance. It returns false if another overseer was faster.
func (s scaler) put(ctx context.Context, i *core.Instance) (bool, error) {
	revision, err := s.deps.Elastic.Instances.PutInstance(ctx, *i)
	if core.Is(err, core.CodeConflict) || core.Is(err, core.CodeNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	i.Revision = revision
	log := s.log.WithFields(logrus.Fields{"instance": i.ID, "group": i.Group, "state": i.State, "why": i.Why})
	if i.Failed && i.State == core.InstanceTerminating {
		s.did.add("failed")
		log.Warn("a machine never became a host: its group pauses")
	} else {
		log.Info("an instance")
	}
	s.did.add(string(i.State))
	return true, nil
}

// step writes a step, and then does what it says.
func (s scaler) step(ctx context.Context, step scale.Step) error {
	i := step.Instance
	if step.Put {
		if is, err := s.put(ctx, &i); err != nil || !is {
			return err
		}
	}
	switch step.Do {
	case scale.Create:
		return s.create(ctx, i)
	case scale.Terminate:
		p := s.providers[i.Group]
		if p == nil {
			return nil // that was said when it was opened
		}
		return p.Terminate(ctx, i.ID, i.Foreign)
	case scale.Drain:
		return s.drain(ctx, i, false)
	case scale.Undrain:
		return s.drain(ctx, i, true)
	case scale.Label:
		return s.label(ctx, i)
	case scale.None:
	}
	return nil
}

// create asks the provider for a machine, and writes what it said.
func (s scaler) create(ctx context.Context, i core.Instance) error {
	asking, cancel := context.WithTimeout(ctx, createWithin)
	defer cancel()
	foreign, err := s.ask(asking, i)
	now, clockErr := s.now(ctx)
	if clockErr != nil {
		now = time.UnixMilli(s.at)
	}
	if err != nil {
		i = scale.Tried(i, err, now.UnixMilli())
	} else {
		i = scale.Made(i, foreign, now.UnixMilli())
	}
	_, putErr := s.put(ctx, &i)
	return errors.Join(err, putErr)
}

func (s scaler) ask(ctx context.Context, i core.Instance) (string, error) {
	p := s.providers[i.Group]
	if p == nil {
		return "", core.Errorf(core.CodeUnavailable, i.ID, "the provider of host group %s cannot be used", i.Group)
	}
	order := cloud.Order{Token: i.ID, Made: i.Created, Group: i.Group, Type: i.Type}
	for _, g := range s.groups {
		if g.Name == i.Group {
			order.Labels = g.Labels
		}
	}
	if s.deps.Elastic.Secret != nil {
		var err error
		if order.Secret, err = s.deps.Elastic.Secret(ctx, i); err != nil {
			return "", err
		}
	}
	return p.Create(ctx, order)
}

func (s scaler) endStray(ctx context.Context, stray scale.Stray) error {
	s.did.add("strays")
	s.log.WithFields(logrus.Fields{"machine": stray.Machine.Foreign, "instance": stray.Machine.Token, "group": stray.Group}).
		Warn("a machine that no instance knows is ended")
	return s.providers[stray.Group].Terminate(ctx, stray.Machine.Token, stray.Machine.Foreign)
}

// forget removes the host of a machine that has ended.
func (s scaler) forget(ctx context.Context, host string) error {
	switch err := s.deps.Hosts.ForgetHost(ctx, host); core.CodeOf(err) {
	case "":
		s.did.add("forgotten")
	case core.CodeNotFound:
	case core.CodeConflict: // what it held is not settled yet
		return nil
	default:
		return err
	}
	_, err := s.deps.Store.ForgetHostWishes(ctx, host)
	return err
}
