package vmfactory

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"

	"drover/core"
)

// survey is what a look at Redis and the host found.
type survey struct {
	full   bool                   // every VM that may be claimed was checked
	known  map[string]core.VMInfo // in Redis before the look
	found  map[string]Instance    // listed by the providers
	homes  map[string]string      // VM → provider
	sick   map[string]error       // unused VMs that failed their check
	absent map[string]error       // providers that are not ready, or cannot list
	limits map[string][]Limit     // what enforces each limit, by provider
	wishes []core.HostWish        // in a full look: the wishes for the host; else nil
}

// survey reads Redis first and the host second, so that a VM that is on the host but not in Redis was already unknown
// when it was listed.
func (f *Factory) survey(ctx context.Context, full bool) (*survey, error) {
	infos, err := f.vms.ListVMs(ctx, f.host())
	if err != nil {
		return nil, err
	}
	s := &survey{full: full, known: make(map[string]core.VMInfo, len(infos))}
	for _, v := range infos {
		s.known[v.ID] = v
	}
	f.list(ctx, s)
	var doubtful []string
	for vm, inst := range s.found {
		k, known := s.known[vm]
		if !inst.Used && (!known || (full && k.State == core.VMClean)) {
			doubtful = append(doubtful, vm)
		}
	}
	s.sick = f.checkAll(ctx, doubtful, s.homes)
	if full && f.wishes != nil {
		wishes, err := f.wishes(ctx, f.host())
		if err != nil {
			return nil, err
		}
		s.wishes = append([]core.HostWish{}, wishes...)
	}
	return s, ctx.Err()
}

// list asks all providers at once for their VMs.
func (f *Factory) list(ctx context.Context, s *survey) {
	s.found, s.homes, s.absent = make(map[string]Instance), make(map[string]string), make(map[string]error)
	s.limits = make(map[string][]Limit)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, name := range f.names {
		p := f.providers[name]
		wg.Go(func() {
			found, err := f.instances(ctx, p)
			limits := p.Limits()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				s.absent[name] = err
				return
			}
			s.limits[name] = limits
			for _, inst := range found {
				s.found[inst.ID], s.homes[inst.ID] = inst, name
			}
		})
	}
	wg.Wait()
}

// instances checks whether one provider is ready and lists its VMs.
func (f *Factory) instances(ctx context.Context, p Provider) ([]Instance, error) {
	var found []Instance
	err := f.calls.within(ctx, f.clock, f.cfg.ListTimeout, "", p.Ready)
	if err != nil {
		return nil, err
	}
	listed := make(chan []Instance, 1)
	err = f.calls.within(ctx, f.clock, f.cfg.ListTimeout, "", func(ctx context.Context) error {
		list, err := p.List(ctx)
		listed <- list
		return err
	})
	if err == nil {
		found = <-listed
	}
	return found, err
}

// checkAll checks VMs, several at once, and returns those that failed. Homes names their providers; a VM without one
// fails.
func (f *Factory) checkAll(ctx context.Context, vms []string, homes map[string]string) map[string]error {
	sick := make(map[string]error)
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(f.cfg.Parallel)
	for _, vm := range vms {
		g.Go(func() error {
			if err := f.checkVM(ctx, vm, homes[vm]); err != nil {
				mu.Lock()
				defer mu.Unlock()
				sick[vm] = err
			}
			return nil
		})
	}
	// The functions report through sick; none returns an error.
	_ = g.Wait()
	return sick
}

var errNoProvider = errors.New("no provider has it")

func (f *Factory) checkVM(ctx context.Context, vm, home string) error {
	p, ok := f.providers[home]
	if !ok {
		return core.Wrap(errNoProvider, core.CodeBadVM, vm, "VM %s", vm)
	}
	return f.calls.within(ctx, f.clock, f.cfg.CheckTimeout, vm, func(ctx context.Context) error { return p.Check(ctx, vm) })
}
