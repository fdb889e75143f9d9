package vmfactory

import (
	"context"
	"slices"
	"time"

	"drover/core"
)

// Trial attacks a disposable VM of a provider, made of the pool's image and named vm, and returns what was withstood.
// It leaves nothing behind. See package selftest.
type Trial func(ctx context.Context, p Provider, pool core.Pool, vm string) core.SelfTest

// trials holds the state of the providers' self-tests on this host, by name. It belongs to the loop and outlives the
// epoch.
type trials map[string]*trial

type trial struct {
	vm     string           // of the test in progress; "" if there is none
	result *core.SelfTest   // of the last one; nil if there was none
	unmade map[string]error // pools of which no VM could be made for the first test, and why
	next   time.Time        // not before
}

// tryProviders starts the self-tests that are due: of each provider that a pool here needs, before it makes the first
// VM, and again some time after a failure.
func (e *epoch) tryProviders(loads []core.PoolLoad) {
	if e.trial == nil || e.draining || !e.surveyed {
		return
	}
	needed := make(map[string][]core.Pool)
	for _, l := range loads {
		if name := l.Pool.Provider; e.providers[name] != nil && e.absent[name] == nil {
			needed[name] = append(needed[name], l.Pool)
		}
	}
	for name, pools := range needed {
		t := e.trials[name]
		if t == nil {
			t = &trial{}
			e.trials[name] = t
		}
		passed := t.result != nil && t.result.Verdict() != core.VerdictFail
		if t.vm == "" && !passed && !e.clock.Now().Before(t.next) {
			e.startTrial(t, e.providers[name], pools)
		}
	}
}

// startTrial tests a provider with the first pool whose image is available.
func (e *epoch) startTrial(t *trial, p Provider, pools []core.Pool) {
	vm := "selftest-" + e.newID()
	t.vm = vm
	e.touch(vm, fate{inHand: true})
	e.wg.Go(func() {
		unmade := make(map[string]error)
		for _, pool := range pools {
			err := e.calls.within(e.work, e.clock, e.cfg.CreateTimeout, "", func(ctx context.Context) error {
				_, err := p.Image(ctx, pool)
				return err
			})
			if err != nil {
				unmade[pool.Name] = err
				continue
			}
			e.log.WithField("provider", p.Name()).Info("testing what VMs hold on this host")
			res := e.trial(e.work, p, pool, vm)
			e.post(func() { e.tried(t, p.Name(), res) })
			return
		}
		e.post(func() { t.vm, t.unmade, t.next = "", unmade, e.clock.Now().Add(imagePolls*e.cfg.Poll) })
	})
}

// imagePolls is how many polls a provider without any image waits for one.
const imagePolls = 5

// tried handles the end of a self-test.
func (e *epoch) tried(t *trial, provider string, res core.SelfTest) {
	e.touch(t.vm, fate{inHand: true}) // a look in progress may have seen it
	t.vm, t.unmade, t.result = "", nil, &res
	if len(e.withheld) > 0 {
		e.nextLook = e.clock.Now()
	}
	log := e.log.WithField("provider", provider).WithField("took_ms", res.TookMs)
	switch res.Verdict() {
	case core.VerdictHeld:
		log.Info("VMs hold what they must on this host")
	case core.VerdictWeak:
		log.WithField("why", res.Reason()).Warn("VMs hold what they must on this host, but not firmly")
	case core.VerdictFail:
		t.next = e.clock.Now().Add(e.cfg.BrokenRetry)
		log.WithField("why", res.Reason()).Error("VMs do not hold what they must on this host")
	}
}

// endTrials drops tests that ended with their epoch.
func (f *Factory) endTrials() {
	for _, t := range f.trials {
		t.vm = ""
	}
}

// untried reports whether the provider must first pass its test.
func (e *epoch) untried(provider string) bool {
	if e.trial == nil || e.cfg.SelfTestWarns || e.cfg.SelfTestBeside {
		return false
	}
	t := e.trials[provider]
	return t == nil || t.result == nil
}

// failed returns which attacks on the provider succeeded; "" if the provider may be used in spite of them.
func (e *epoch) failed(provider string) string {
	t := e.trials[provider]
	if t == nil || t.result == nil || e.cfg.SelfTestWarns || t.result.Verdict() != core.VerdictFail {
		return ""
	}
	return "provider " + provider + " failed its self-test on this host, which is not used: " + t.result.Reason()
}

// unproved returns why a provider cannot be tested because the images of this pool and all others are missing; nil
// otherwise.
func (e *epoch) unproved(p core.Pool) error {
	if t := e.trials[p.Provider]; t != nil && t.result == nil && !e.cfg.SelfTestWarns && !e.cfg.SelfTestBeside {
		return t.unmade[p.Name]
	}
	return nil
}

// notes returns what operators should know about the providers.
func (e *epoch) notes() []core.ProviderNote {
	var all []core.ProviderNote
	for _, name := range slices.Sorted(slices.Values(e.names)) {
		note := core.ProviderNote{Name: name}
		if err := e.absent[name]; err != nil {
			note.Missing, note.Since = cut(err.Error()), e.since[name]
		}
		for _, l := range e.limits[name] {
			note.Limits = append(note.Limits, core.LimitNote{Name: l.Name, HeldBy: l.HeldBy, Note: cut(l.Note), Weak: l.Weak})
		}
		if t := e.trials[name]; t != nil && t.result != nil {
			res := *t.result
			res.Fault = cut(res.Fault)
			note.SelfTest = &res
		}
		all = append(all, note)
	}
	return all
}
