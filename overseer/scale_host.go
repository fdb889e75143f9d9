package overseer

import (
	"context"
	"time"

	"drover/core"
	"drover/core/cluster/scale"
)

// drain lets the host of an instance finish what it has in hand, or take work again. The store has the wish first. The
// wish of somebody else to drain the host stays, and with it the host remains drained.
func (s scaler) drain(ctx context.Context, i core.Instance, lifted bool) error {
	now, err := s.now(ctx)
	if err != nil {
		return err
	}
	w, left := scale.DrainWish(i, lifted, now)
	its, err := s.deps.Store.HostWishes(ctx, i.ID)
	if err != nil {
		return err
	}
	former, is := core.FindWish(its, core.WishDrain)
	if others := is && !former.Lifted && former.By != scale.By; others && lifted {
		return nil
	} else if !others {
		if err := s.wish(ctx, w, former, now); err != nil {
			return err
		}
	}
	err = s.deps.Hosts.Drain(ctx, i.ID, !lifted, left)
	if core.Is(err, core.CodeNotFound) {
		return nil // it gets the wish when it registers again
	}
	return err
}

// label gives a new host the labels of its group.
func (s scaler) label(ctx context.Context, i core.Instance) error {
	for _, g := range s.groups {
		if g.Name != i.Group {
			continue
		}
		labels, err := core.ParseLabels(g.Labels)
		if err != nil {
			return err
		}
		now, err := s.now(ctx)
		if err != nil {
			return err
		}
		its, err := s.deps.Store.HostWishes(ctx, i.ID)
		if err != nil {
			return err
		}
		former, _ := core.FindWish(its, core.WishSettings)
		settings := core.HostSettings{Labels: labels}
		if err := s.wish(ctx, core.HostWish{Host: i.ID, Kind: core.WishSettings, By: scale.By, Settings: &settings}, former, now); err != nil {
			return err
		}
		if err := s.deps.Hosts.SetHost(ctx, i.ID, settings); !core.Is(err, core.CodeNotFound) {
			return err
		}
	}
	return nil
}

// wish replaces a host's former wish.
func (s scaler) wish(ctx context.Context, w, former core.HostWish, now time.Time) error {
	w.At = former.After(now)
	return s.keep(ctx, w)
}
