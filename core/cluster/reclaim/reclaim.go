// Package reclaim drains a host whose machine its provider takes back, from that machine itself, which learns of it
// first. What it writes is what an overseer writes that finds the notice in the provider's list, in the same order, so
// either goes on with what the other began:
//
//	crash after                    then
//	the notice was read            this host, or an overseer, reads it again
//	the instance is draining       an overseer sees that its host is not, and drains it
//	the wish is kept               the same
package reclaim

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/scale"
	"drover/core/service/clock"
)

// Host is a host that may run on a machine that its provider may take back.
type Host struct {
	Name  string
	Store Store
	Drain func(ctx context.Context, host string, on bool, within time.Duration) error // as core.Hosts has it
	Now   func() time.Time                                                            // by the server's clock
	Hears func(core.HostGroup) bool                                                   // whether its machines hear that they are taken back
	// Wait returns how long the machine still has, once its provider takes it back, and an error if that cannot be known
	// here. It is only called if its machine hears of that.
	Wait  func(ctx context.Context) (time.Duration, error)
	Clock clock.Clock
	// Warn tells the operator what happens to the host; err may be nil.
	Warn func(err error, text string)
}

// Store is what a Host needs of the result store.
type Store interface {
	core.Instances
	core.HostWishes
}

// again is the pause between tries of what did not work.
const again = time.Second

// Run drains the host once its machine is taken back. It returns when ctx ends.
func (h Host) Run(ctx context.Context) error {
	h.watch(ctx)
	<-ctx.Done()
	return nil
}

func (h Host) watch(ctx context.Context) {
	var hears bool
	if !h.insist(ctx, "it cannot be found out whether this host's machine may be taken back: trying again", func() (err error) {
		hears, err = h.hears(ctx)
		return err
	}) || !hears {
		return
	}
	left, err := h.Wait(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.Warn(err, "this machine cannot say when its provider takes it back: overseers learn of it from the provider's list, some seconds later")
		return
	}
	at := h.Now().Add(left)
	h.Warn(nil, "the provider takes this machine back in "+left.Round(time.Second).String()+": the host drains")
	h.insist(ctx, "this host cannot be drained: trying again", func() error { return h.drain(ctx, at) })
}

// insist repeats what does not work until it does, and returns false if ctx ended before.
func (h Host) insist(ctx context.Context, trouble string, do func() error) bool {
	for {
		err := do()
		if err == nil {
			return true
		}
		if ctx.Err() == nil {
			h.Warn(err, trouble)
		}
		if clock.Sleep(ctx, h.Clock, again) != nil {
			return false
		}
	}
}

// hears reports whether the host's machine was made for a group whose machines hear that they are taken back.
func (h Host) hears(ctx context.Context) (bool, error) {
	i, err := h.Store.GetInstance(ctx, h.Name)
	if core.Is(err, core.CodeNotFound) {
		return false, nil // no machine of a group
	}
	if err != nil {
		return false, err
	}
	all, err := h.Store.HostGroups(ctx)
	for _, g := range all {
		if g.Name == i.Group {
			return h.Hears(g), nil
		}
	}
	return false, err
}

// drain writes of the instance that it ends at a moment, and then drains the host. Returns CONFLICT while the instance is
// not known to have a host, or when an overseer was faster: to be tried again.
func (h Host) drain(ctx context.Context, at time.Time) error {
	i, err := h.Store.GetInstance(ctx, h.Name)
	if core.Is(err, core.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	next, is := scale.Reclaimed(i, at.UnixMilli(), h.Now().UnixMilli())
	switch {
	case is:
		if _, err := h.Store.PutInstance(ctx, next); err != nil {
			return err
		}
	case i.State == core.InstanceTerminating || i.State == core.InstanceTerminated:
		return nil
	case i.State != core.InstanceDraining:
		return core.Errorf(core.CodeConflict, i.ID, "instance %s is %s, and drains once an overseer has seen its host", i.ID, i.State)
	}
	its, err := h.Store.HostWishes(ctx, h.Name)
	if err != nil {
		return err
	}
	former, _ := core.FindWish(its, core.WishDrain)
	w, left := scale.DrainWish(next, false, h.Now())
	w.At = former.After(h.Now())
	if err := w.Check(); err != nil {
		return err
	}
	if _, err := h.Store.PutHostWish(ctx, w); err != nil {
		return err
	}
	if err := h.Drain(ctx, h.Name, true, left); !core.Is(err, core.CodeNotFound) {
		return err
	}
	return nil // it gets the wish when it registers again
}
